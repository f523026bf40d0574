// SPDX-License-Identifier: MIT OR Apache-2.0
// A reporter of Node's test runner: what each test took, as scripts/test.sh collects it.

export default async function* times(events) {
    for await (const { type, data } of events) {
        if (type === "test:pass" || type === "test:fail") {
            yield `${process.env.TEIJI_STAGE}\t${data.name}\t${(data.details.duration_ms / 1000).toFixed(2)}\t\n`;
        }
    }
}
