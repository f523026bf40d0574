# SPDX-License-Identifier: MIT OR Apache-2.0
"""Probes of co-kernels, and the choice of one, on kernels with Cobalt and with EVL, and on one without."""

import unittest

from lab import Lab, document, sample_hashes


class NoCoKernel(Lab):
    def test_without_a_co_kernel_nothing_changes(self):
        hashes = []
        for name, probe in (("named", ["--probe", "cyclic"]), ("chosen", [])):
            self.lab("run", "-q", "-k", "debian:amd64", "-n", "500", *probe, "-o", name)
            (recording,) = (self.folder / name).iterdir()
            self.assertEqual(document(recording)["run"]["probe"], "cyclic")
            self.assertNotIn("co_kernel", document(recording)["instrument"])
            hashes.append(sample_hashes(recording))
        self.assertTrue(hashes[0])
        self.assertEqual(hashes[0], hashes[1])


if __name__ == "__main__":
    unittest.main()
