# SPDX-License-Identifier: MIT OR Apache-2.0
"""The recipes of packaging/ci, as far as they can be run without the services they are for: their shell lines in order, with a
`make` that builds nothing and gives a kernel of Debian's.
"""

import hashlib
import os
import random
import subprocess

import yaml
from lab import PATIENCE_S, ROOT, TEIJI, Lab, long, main

# Lines of these need the network, root or the service.
OF_THE_SERVICE = ("apt-get", "git worktree", "gh ", "curl --fail --silent")
# `make -C base defconfig` and `make -C base -j2 bzImage`.
MAKE = """#!/bin/sh
set -e
[ "$1" = -C ]
[ "$3" != defconfig ] || exit 0
[ "$4" = bzImage ]
case $2 in base) kernel=$BASE ;; *) kernel=$HEAD ;; esac
mkdir -p "$2/arch/x86/boot"
cp "$kernel" "$2/arch/x86/boot/bzImage"
"""
# Fewer, for what is tested is not a kernel.
SHORTER = {"--phases 4": "--phases 2", "--samples 10000": "--samples 500", "/usr/local/bin": "$PWD/bin"}


class Recipes(Lab):
    def recipe(self, name):
        return yaml.safe_load((ROOT / "packaging" / "ci" / name).read_text())

    def kernel(self, flavour):
        fetched = self.lab("fetch", f"debian:{flavour}").stdout
        return fetched.split(": ", 1)[1].strip()

    def environment_in(self, folder, **more):
        return self.environment | {"PATH": f"{TEIJI.parent}:{os.environ['PATH']}", "GITHUB_STEP_SUMMARY": str(folder / "summary.md")} | more

    def run_step(self, step, folder, environment):
        """As the services do: in a shell that ends at the first error."""
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step]
        return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    def run_steps(self, steps, base, head):
        """Runs those that can be run here, one after the other, in a folder of their own."""
        folder = self.folder / "checkout"
        (folder / "bin").mkdir(parents=True)
        (folder / "base").mkdir()
        (folder / "bin" / "make").write_text(MAKE)
        (folder / "bin" / "make").chmod(0o755)
        environment = self.environment_in(
            folder,
            PATH=f"{folder / 'bin'}:{os.environ['PATH']}",
            BASE=base,
            HEAD=head,
            TEIJI_URL=f"file://{TEIJI}",
            TEIJI_SHA256=hashlib.sha256(TEIJI.read_bytes()).hexdigest(),
        )
        ran = 0
        for step in steps:
            subprocess.run(["bash", "-n", "-c", step], check=True)
            if step.startswith(OF_THE_SERVICE):
                continue
            for written, shorter in SHORTER.items():
                step = step.replace(written, shorter)
            done = self.run_step(step, folder, environment)
            self.assertEqual(done.returncode, 0, f"{step}\n{done.stdout}\n{done.stderr}")
            ran += 1
        self.assertEqual(ran, 4)
        comparison = (folder / "comparison.md").read_text()
        self.assertRegex(comparison, r"\| Preemption \| PREEMPT\\?_DYNAMIC \(voluntary\) \| PREEMPT\\?_RT \|")
        return folder, comparison

    @long
    def test_of_github_two_kernels_are_compared(self):
        jobs = self.recipe("github-actions.yml")["jobs"]
        self.assertEqual(jobs["comment"]["needs"], "measure")
        self.assertNotIn("permissions", jobs["measure"], "what runs a pull request's Makefile has no rights of its own")
        steps = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
        folder, comparison = self.run_steps(steps, self.kernel("amd64"), self.kernel("rt-amd64"))
        self.assertEqual((folder / "summary.md").read_text(), comparison)

    @long
    def test_of_gitlab_two_kernels_are_compared(self):
        recipe = self.recipe("gitlab-ci.yml")
        self.assertEqual(recipe["comment"]["needs"], ["latency"])
        steps = [step for job in recipe.values() for step in job["before_script"] + job["script"]]
        folder, _ = self.run_steps(steps, self.kernel("amd64"), self.kernel("rt-amd64"))
        self.assertIn("<testcase", (folder / "gate.xml").read_text())

    def test_a_worse_kernel_fails_and_too_few_samples_do_not(self):
        github = [step.get("run", "") for step in self.recipe("github-actions.yml")["jobs"]["measure"]["steps"]]
        gitlab = self.recipe("gitlab-ci.yml")["latency"]["script"]
        (*_, of_github), (*_, of_gitlab) = github, gitlab
        for name, count, factor, code in (("equal", 20_000, 1, 0), ("worse", 20_000, 2, 1), ("few", 100, 2, 0)):
            folder = self.folder / name
            environment = self.environment_in(folder)
            for kernel, times in (("base", 1), ("head", factor)):
                (folder / "lab" / kernel).mkdir(parents=True)
                drawn = random.Random(kernel)
                latencies = "".join(f"{int(times * (4_000 + drawn.expovariate(1 / 1_000)))}\n" for _ in range(count))
                (folder / kernel).write_text(latencies)
                words = ["measure", "--quiet", "--probe", "stream", "--kind", "latency", "--from", kernel, "--output", f"lab/{kernel}/{kernel}.teiji"]
                subprocess.run([TEIJI, *words], cwd=folder, check=True, capture_output=True)
            for step in (of_github, of_gitlab):
                self.assertIn("teiji gate", step)
                done = self.run_step(step, folder, environment)
                self.assertEqual(done.returncode, code, f"{name}\n{step}\n{done.stdout}\n{done.stderr}")


if __name__ == "__main__":
    main()
