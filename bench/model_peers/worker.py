"""One run of a peer, in its interpreter: `python -m bench.model_peers.worker TOOL TABLE RHO OUT`.

TABLE has the rows' codes, the numbers of values, and the axes of the marginals that are wanted, in NumPy's format; OUT
gets the model's marginals and those of as many rows as it draws. Prints a JSON object.
"""

import json
import resource
import sys
import time
from importlib.metadata import version

import numpy as np
import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")

ALGORITHMS = {"aim": dp.mbi.AIM, "mst": dp.mbi.MST}
PACKAGES = ("opendp", "mbi", "jax")


def main() -> None:
    tool, path, rho, out = sys.argv[1:]
    with np.load(path) as given:
        codes, sizes, wanted = given["codes"], given["sizes"].tolist(), json.loads(str(given["wanted"]))
    names = [f"a{place}" for place in range(len(sizes))]
    context = dp.Context.compositor(
        data=pl.LazyFrame({name: codes[:, place] for place, name in enumerate(names)}),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=float(rho)),
    )
    keys = {name: list(range(size)) for name, size in zip(names, sizes, strict=True)}
    asked = context.query(rho=float(rho)).select(*names).contingency_table(keys=keys, algorithm=ALGORITHMS[tool]())
    table = asked.release()
    fitted = time.process_time()
    # A value that is missing is one more there. Nobody's is, and what the model says of it is left out.
    rows = table.synthesize().select(names).drop_nulls().to_numpy().astype(np.int64)
    found = {}
    for axes in wanted:
        key, shape = "_".join(map(str, axes)), [sizes[axis] for axis in axes]
        projected = np.asarray(table.project(tuple(names[axis] for axis in axes)), np.float64)
        found[f"model_{key}"] = projected[tuple(map(slice, shape))]
        places = np.ravel_multi_index(tuple(rows[:, axis] for axis in axes), shape)
        found[f"rows_{key}"] = np.bincount(places, minlength=int(np.prod(shape))).reshape(shape)
    np.savez_compressed(out, **found)
    told = {
        "versions": {name: version(name) for name in PACKAGES},
        "cpu_seconds": fitted,
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
