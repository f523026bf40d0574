#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""What scipy makes of some series: fits, return levels and profile-likelihood intervals of the generalised Pareto and the
generalised extreme value distribution. Writes extremes.json beside itself, which the tests read. Needs scipy and numpy.

The intervals are found by scipy's own optimisers on scipy's own densities; nothing here is shared with the program."""

import json
from pathlib import Path

import numpy as np
from scipy import optimize, stats

HALF_CHI2 = stats.chi2.ppf(0.95, 1) / 2


def best_of(function, starts):
    """The smallest value from several starts."""
    runs = [optimize.minimize(function, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11, "maxiter": 20_000}) for start in starts]
    return min(runs, key=lambda run: run.fun)


def negative(value):
    return value if np.isfinite(value) else 1e12


def gpd_case(name, excesses, horizon):
    """`horizon`: the level is reached by one in so many excesses."""

    def loss(parameters):
        shape, ln_scale = parameters
        return negative(-stats.genpareto.logpdf(excesses, shape, scale=np.exp(ln_scale)).sum())

    mean = excesses.mean()
    fit = best_of(loss, [(0.1, np.log(mean)), (-0.1, np.log(mean)), (0.4, np.log(mean / 2))])
    shape, scale = fit.x[0], np.exp(fit.x[1])

    def stretched(shape):
        return np.log(horizon) if abs(shape) < 1e-12 else (horizon**shape - 1) / shape

    def profile(level):
        def at(shape):
            return loss((shape, np.log(level / stretched(shape))))

        grid = np.linspace(-0.49, 0.99, 75)
        start = grid[np.argmin([at(s) for s in grid])]
        found = optimize.minimize_scalar(at, bounds=(start - 0.03, start + 0.03), method="bounded", options={"xatol": 1e-10})
        return found.fun - fit.fun - HALF_CHI2

    level = scale * stretched(shape)
    low = optimize.brentq(profile, level * 0.3, level)
    high = optimize.brentq(profile, level, level * 30)

    def shape_profile(shape):
        found = optimize.minimize_scalar(lambda ln_scale: loss((shape, ln_scale)), bounds=(np.log(mean) - 3, np.log(mean) + 3), method="bounded", options={"xatol": 1e-10})
        return found.fun - fit.fun - HALF_CHI2

    ordered = np.sort(excesses)
    at_most = stats.genpareto.cdf(ordered, shape, scale=scale)
    n = len(ordered)
    weight = 2 * np.arange(1, n + 1) - 1
    statistic = -n - (weight * (np.log(at_most) + np.log1p(-at_most[::-1]))).sum() / n
    return {
        "name": name,
        "excesses": [float(x) for x in excesses],
        "shape": shape,
        "scale": scale,
        "log_likelihood": -fit.fun,
        "horizon": horizon,
        "level": level,
        "level_interval": [low, high],
        "shape_interval": [optimize.brentq(shape_profile, shape - 0.45, shape), optimize.brentq(shape_profile, shape, shape + 0.6)],
        "anderson_darling": statistic,
    }


def gev_case(name, maxima, blocks):
    """`blocks`: the level is exceeded once in so many blocks."""

    def loss(parameters):
        shape, location, ln_scale = parameters
        return negative(-stats.genextreme.logpdf(maxima, -shape, loc=location, scale=np.exp(ln_scale)).sum())

    sd, mean = maxima.std(), maxima.mean()
    starts = [(s, mean - 0.45 * sd, np.log(0.78 * sd)) for s in (-0.1, 0.1, 0.3)]
    fit = best_of(loss, starts)
    shape, location, scale = fit.x[0], fit.x[1], np.exp(fit.x[2])

    def stretched(shape):
        return np.log(blocks) if abs(shape) < 1e-12 else (blocks**shape - 1) / shape

    def profile(level):
        def at(parameters):
            shape, ln_scale = parameters
            return loss((shape, level - np.exp(ln_scale) * stretched(shape), ln_scale))

        found = best_of(at, [(shape, fit.x[2]), (shape + 0.1, fit.x[2]), (shape - 0.1, fit.x[2] + 0.1)])
        return found.fun - fit.fun - HALF_CHI2

    level = location + scale * stretched(shape)
    outside = [next(level + sign * step * scale for step in 0.2 * 1.5 ** np.arange(30) if profile(level + sign * step * scale) > 0) for sign in (-1, 1)]
    low, high = (optimize.brentq(profile, min(level, out), max(level, out)) for out in outside)
    return {
        "name": name,
        "maxima": [float(x) for x in maxima],
        "shape": shape,
        "location": location,
        "scale": scale,
        "log_likelihood": -fit.fun,
        "blocks": blocks,
        "level": level,
        "level_interval": [low, high],
    }


def main():
    random = np.random.default_rng(4)
    gpd = [
        gpd_case(f"shape {shape}, {size} excesses", np.round(stats.genpareto.rvs(shape, scale=scale, size=size, random_state=random), 3), horizon)
        for shape, scale, size, horizon in [(-0.2, 2_500.0, 200, 1e4), (0.0, 1_800.0, 120, 1e3), (0.15, 4_000.0, 300, 1e5), (0.4, 900.0, 250, 1e4)]
    ]
    gev = [
        gev_case(f"shape {shape}, {size} maxima", np.round(stats.genextreme.rvs(-shape, loc=40_000.0, scale=scale, size=size, random_state=random), 3), blocks)
        for shape, scale, size, blocks in [(-0.15, 3_000.0, 128, 1e3), (0.05, 2_000.0, 64, 500.0), (0.25, 5_000.0, 256, 2e3)]
    ]
    text = json.dumps({"gpd": gpd, "gev": gev}, indent=1)
    Path(__file__).with_name("extremes.json").write_text(text + "\n")
    for case in gpd + gev:
        print(case["name"], case["shape"], case["scale"], case["level"], case["level_interval"])


if __name__ == "__main__":
    main()
