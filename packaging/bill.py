#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""A bill of materials, CycloneDX 1.5, of the programs: the crates that are part of them, as Cargo.lock pins them, and what is
not of cargo's. The same lock file, compiler and SOURCE_DATE_EPOCH give the same bytes.

    bill.py TARGET... > FILE.cdx.json

Build scripts, procedural macros and what only tests need are not part of a program, and are left out.
"""

import datetime
import json
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = "teiji"


def output_of(*words):
    return subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


def cargo_metadata(targets):
    filters = [word for target in targets for word in ("--filter-platform", target)]
    return json.loads(output_of("cargo", "metadata", "--locked", "--format-version", "1", *filters))


def linked(targets):
    """Name and version of each crate in the program. Only `cargo tree` knows which features it is built with."""
    words = ["cargo", "tree", "--locked", "--package", PROGRAM, "--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"]
    lines = [line for target in targets for line in output_of(*words, "--target", target).splitlines()]
    return {(name, version[1:]) for name, version in (line.split(" ")[:2] for line in lines if line)}


def parts(metadata, inside):
    """Packages that are linked into the program, by their id, each with the ids of those it depends on."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}

    def is_inside(name):
        return (packages[name]["name"], packages[name]["version"]) in inside

    def needs(name):
        normal = [one["pkg"] for one in nodes[name]["deps"] if any(kind["kind"] is None for kind in one["dep_kinds"])]
        return sorted(one for one in normal if is_inside(one))

    found, waiting = {}, [one for one, package in packages.items() if package["name"] == PROGRAM]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = needs(name)
            waiting += found[name]
    return packages, found


def checksums():
    """SHA-256 of the sources of each crate, by name and version."""
    locked = re.findall(r'name = "(.+)"\nversion = "(.+)"\nsource = .*\nchecksum = "(.+)"', (ROOT / "Cargo.lock").read_text())
    return {(name, version): checksum for name, version, checksum in locked}


def component(package, known):
    name, version = package["name"], package["version"]
    one = {
        "type": "library",
        "bom-ref": f"pkg:cargo/{name}@{version}",
        "name": name,
        "version": version,
        # Some write MIT/Apache-2.0, as cargo once took it.
        "licenses": [{"expression": package["license"].replace("/", " OR ")}],
        "purl": f"pkg:cargo/{name}@{version}",
    }
    if package["source"] is None:
        # Of this workspace: in no registry.
        del one["purl"]
    else:
        one["hashes"] = [{"alg": "SHA-256", "content": known[name, version]}]
    return one


def others(targets):
    """What is linked or shown and is no crate."""
    uplot = (ROOT / "crates/report/assets/uPlot.iife.min.js").read_text()
    compiler = output_of("rustc", "--version").split()[1]
    yield "uPlot", re.search(r"\(v(\d+\.\d+\.\d+)", uplot)[1], "MIT"
    yield "rust-std", compiler, "MIT OR Apache-2.0"
    # The one that Rust brings for its musl targets; for others that of the machine that builds.
    if any(target.endswith("-musl") for target in targets):
        yield "musl", None, "MIT"
    if not all(target.endswith("-musl") for target in targets):
        yield "glibc", None, "LGPL-2.1-or-later"


def bill(targets):
    metadata = cargo_metadata(targets)
    packages, found = parts(metadata, linked(targets))
    known = checksums()
    components = [component(packages[name], known) for name in found]
    refs = {name: one["bom-ref"] for name, one in zip(found, components)}
    (program,) = [one for one in components if one["name"] == PROGRAM]
    components.remove(program)
    program["type"] = "application"
    more = []
    for name, version, licence in others(targets):
        one = {"type": "library", "bom-ref": name, "name": name, "licenses": [{"expression": licence}]}
        more.append(one if version is None else {**one, "version": version})
    depends = {refs[name]: sorted(refs[one] for one in needed) for name, needed in found.items()}
    depends[program["bom-ref"]] += [one["bom-ref"] for one in more]
    made = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": made.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": program,
            "properties": [{"name": "teiji:target", "value": target} for target in targets],
        },
        "components": sorted(components, key=lambda one: one["bom-ref"]) + more,
        "dependencies": [{"ref": ref, "dependsOn": depends[ref]} for ref in sorted(depends)],
    }
    # A number of this content, not of the moment.
    content = json.dumps(document, sort_keys=True)
    return {**document, "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}"}


if __name__ == "__main__":
    json.dump(bill(sys.argv[1:]), sys.stdout, indent=2)
    print()
