# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads recordings as Parquet by two readers, and holds them against the same table as CSV: check_parquet.py TEIJI REC..."""

import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas
import polars
from pyarrow import parquet


def main(teiji, recordings):
    """Exports each and reads it."""
    largest = 0
    with tempfile.TemporaryDirectory() as folder:
        for recording in recordings:
            file = Path(folder) / "table.parquet"
            subprocess.run([teiji, "export", recording, "--as", "parquet", "-o", file, "--force"], check=True, stderr=subprocess.DEVNULL)
            csv = subprocess.run([teiji, "export", recording, "--samples"], check=True, capture_output=True, text=True).stdout
            expected = pandas.read_csv(io.StringIO(csv)).astype("Int64")
            table = parquet.read_table(file)
            pandas.testing.assert_frame_equal(table.to_pandas(integer_object_nulls=True).astype("Int64"), expected)
            assert json.loads(table.schema.metadata[b"run.json"]) == json.loads((recording / "run.json").read_text())
            assert polars.read_parquet(file).sum().row(0) == tuple(int(column) for column in expected.sum())
            largest = max(largest, parquet.ParquetFile(file).metadata.num_row_groups)
    assert largest > 1, "no recording is longer than a group of rows"
    print(f"{len(recordings)} recordings as Parquet are as they are in CSV")


if __name__ == "__main__":
    main(sys.argv[1], [Path(word) for word in sys.argv[2:]])
