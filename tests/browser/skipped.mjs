// SPDX-License-Identifier: MIT OR Apache-2.0
// A test that cannot be run here says so where scripts/test.sh counts; `need` is a name of .ci/lacks.
import { appendFileSync } from 'node:fs';

export function skipped(t, need, reason) {
  const list = process.env.TEIJI_SKIPPED_TESTS;
  if (list) appendFileSync(list, `${t.fullName ?? t.name}\t${need}\t${reason}\n`);
  return t.skip(reason);
}
