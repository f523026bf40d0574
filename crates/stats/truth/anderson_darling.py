#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""How large the Anderson-Darling statistic of a generalised Pareto fit becomes by chance, by simulation: the table of
src/extreme/goodness.rs. Needs numpy. Takes a minute or two; the digits it prints are certain to about 1 %.

For each shape, samples of 400 numbers of that shape are fitted by maximum likelihood with shape and scale unknown, and the
statistic of each fit is taken. Choulakian and Stephens, "Goodness-of-fit tests for the generalized Pareto distribution",
Technometrics 43 (2001) 478-484, have a table of the same (their k is minus the shape)."""

import numpy as np

SAMPLES, SIZE = 40_000, 400
LEVELS = [0.25, 0.10, 0.05, 0.01, 0.001]
SHAPES = [-0.4, -0.2, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0]


def fit(excesses):
    """Shape and scale of each row, by the profile along shape / scale: a grid, then halving steps around its best."""
    largest = excesses.max(axis=1, keepdims=True)

    def shape_of(t):
        return np.log1p(np.expm1(t)[:, None] / largest * excesses).mean(axis=1)

    def badness(t):
        shape = shape_of(t)
        ratio = np.expm1(t) / largest[:, 0]
        scale = np.where(np.abs(t) < 1e-9, excesses.mean(axis=1), shape / np.where(ratio == 0, 1, ratio))
        return np.where(shape < -0.5, np.inf, np.log(scale) + shape)

    count = len(excesses)
    best, value = np.zeros(count), np.full(count, np.inf)
    for t in np.arange(-6.03, 19, 0.31):
        now = badness(np.full(count, t))
        best, value = np.where(now < value, t, best), np.minimum(now, value)
    step = 0.31
    for _ in range(22):
        step /= 1.6
        for sign in (-1, 1):
            now = badness(best + sign * step)
            best, value = np.where(now < value, best + sign * step, best), np.minimum(now, value)
    shape = shape_of(best)
    return shape, shape / (np.expm1(best) / largest[:, 0])


def statistic(excesses, shape, scale):
    """Anderson and Darling's A squared of each row."""
    ordered = np.sort(excesses, axis=1)
    exponential = np.log1p(shape[:, None] * ordered / scale[:, None]) / shape[:, None]
    exponential = np.maximum(exponential, 1e-12)
    log_at_most, log_beyond = np.log(-np.expm1(-exponential)), -exponential
    n = excesses.shape[1]
    weight = 2 * np.arange(1, n + 1) - 1
    return -n - (weight * (log_at_most + log_beyond[:, ::-1])).sum(axis=1) / n


def main():
    random = np.random.default_rng(20_261_121)
    print("shape    " + "  ".join(f"{level:7.3f}" for level in LEVELS))
    for shape in SHAPES:
        values = []
        for _ in range(10):
            exponential = random.exponential(size=(SAMPLES // 10, SIZE))
            excesses = exponential if shape == 0 else np.expm1(shape * exponential) / shape
            fitted = fit(excesses)
            inside = fitted[0] > -0.499
            values.append(statistic(excesses, *fitted)[inside])
        values = np.concatenate(values)
        row = np.quantile(values, [1 - level for level in LEVELS])
        print(f"{shape:5.1f}    " + "  ".join(f"{value:7.3f}" for value in row) + f"   of {len(values)}")


if __name__ == "__main__":
    main()
