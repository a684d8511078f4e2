"""Mutants that change nothing that a test could notice, each with the reason. They are not tried, and not counted."""

EQUIVALENT = {
    (
        "cube/norms.py",
        """\
- noisy = np.concatenate([np.asarray(table, np.float64).reshape(-1) for _, table in sources])
+ noisy = np.concatenate([np.asarray(table, np.float64).reshape(-2) for _, table in sources])""",
    ): "NumPy takes any length below 0 for whatever is left",
    (
        "ledger/little_noise.py",
        """\
- return bool(tail(iv, quotient(iv, score)).b <= _above_0(iv, sigma_squared).a)
+ return bool((tail(iv, quotient(iv, score)).b < _above_0(iv, sigma_squared).a))""",
    ): "two ends of intervals of 320 bits never meet",
    (
        "ledger/checkpoint.py",
        """\
- found = unpacking.decompress(base64.b64decode(text, validate=True), expected + 1)
+ found = unpacking.decompress(base64.b64decode(text, validate=True), expected + 2)""",
    ): "a byte too many says that there are too many, and so do two",
    (
        "ledger/normal_tail.py",
        """\
- while not (2 * square.b <= order and abs(term).b <= smallest):
+ while not (2 * square.b <= order and (abs(term).b < smallest)):""",
    ): "a term more, or one less: what is left of the series is added as an interval either way",
    (
        "query/cells.py",
        """\
- merged = same.reshape(-1)[of_code]
+ merged = same.reshape(-2)[of_code]""",
    ): "NumPy takes any length below 0 for whatever is left",
    (
        "noise/simulate.py",
        """\
- words = _words(-(-rows * columns // 4), key).view(np.uint16)[: rows * columns]
+ words = _words(-((-rows * columns * 4)), key).view(np.uint16)[: rows * columns]""",
    ): "words beyond those that are needed are left",
    (
        "answer/ask.py",
        """\
- if wish.within is None or not decision.free:
+ if (wish.within is None and (not decision.free)):""",
    ): "a shortcut: nothing is wider than no wish, and where nothing is free nothing is to be measured instead",
    (
        "answer/rows.py",
        """\
- free = [cell for cell in parts if cell in decision.free]
+ free = [cell for cell in parts]""",
    ): "what is not free is to be measured anyway",
    (
        "cube/known_variances.py",
        """\
- left -= (-1) ** (size + 1) * variances(common) / spread**2
+ left -= (-1) ** ((size - 1)) * variances(common) / spread**2""",
    ): "one more and one less are odd or even alike",
    (
        "facts/atoms.py",
        """\
- _, which = np.unique(which * (seen.max(initial=0) + 1) + seen, return_inverse=True)
+ _, which = np.unique((which * (seen.max(initial=0) + 1) - seen), return_inverse=True)""",
    ): "different for different columns as before: the same columns in another order",
    (
        "refinement/factored.py",
        """\
- return float(np.sum(np.diff(self._spread.indptr).astype(np.float64) ** 2))
+ return float(np.sum((np.diff(self._spread.indptr).astype(np.float64) * 2)))""",
    ): "which of two solvers is used; both solve the same equations",
    (
        "cube/parquet.py",
        """\
- noisy = is_wide_file(cube.plan) and kind.kind == "f"
+ noisy = (is_wide_file(cube.plan) or kind.kind == 'f')""",
    ): "which columns are compressed; what is read is the same",
    (
        "cube/export.py",
        """\
- packed = {name: {"zlib": True, "complevel": 1} for name in data.data_vars if data[name].ndim}
+ packed = {name: {'zlib': True, 'complevel': 1} for name in data.data_vars}""",
    ): "a single number is not compressed, whatever is asked for",
    (
        "table/take.py",
        """\
- keys = np.append(person_keys(known, self.key), np.uint64(0))[places]
+ keys = np.append(person_keys(known, self.key), np.uint64(1))[places]""",
    ): "the key of whoever has no id is replaced by a random one",
    (
        "table/tally.py",
        """\
- largest_first = sorted(together.items(), key=lambda stem: -len(stem[1]))
+ largest_first = sorted(together.items(), key=lambda stem: (len(stem[1])))""",
    ): "how the work is dealt to cores; what is counted is the same",
    (
        "noise/laplace.py",
        """\
- words_per_lane_word = WORDS_PER_FLIP * planes + 1
+ words_per_lane_word = (WORDS_PER_FLIP + planes) + 1""",
    ): "how many words are fetched at a time; further ones come when they are needed, and no draw changes",
    (
        "noise/deviation.py",
        """\
- reach = min(trials // 2, math.ceil(39 * math.sqrt(trials) / 2))
+ reach = min(trials // 2, math.floor(39 * math.sqrt(trials) / 2))""",
    ): "beyond 39 standard deviations nothing is left in floats",
    (
        "noise/exponential.py",
        """\
- slack = _limbs(candidates * error, 3)
+ slack = _limbs(candidates * error, 4)""",
    ): "the same number, with one more limb of 0",
    (
        "lattice/moves.py",
        """\
- if vectors[j, column] > 0 and (alike & active) == 0 and (size < total - size or i > j):
+ if vectors[j, column] > 0 and (alike & active) == 0 and (size < total - size or (i >= j)):""",
    ): "a member has its own signs: with itself the condition before fails",
    (
        "ledger/grid.py",
        """\
- small = volumes(lows, highs) < corners_each
+ small = (volumes(lows, highs) <= corners_each)""",
    ): "where points and corners are as many, either way counts the same",
    (
        "ledger/squared_budget.py",
        """\
- if self.epsilon is None or self.delta is None:
+ if (self.epsilon is None and self.delta is None):""",
    ): "a budget has both of them, or neither",
    (
        "noise/spread.py",
        """\
- step = (t * t + 40) / STEPS
+ step = ((t + t) + 40) / STEPS""",
    ): "up to where an integral is summed; what lies beyond, less than 10^-17, is bounded",
    (
        "ledger/standing.py",
        """\
- return points if versions == 1 else max(points, min(points ** min(versions, 50), MANY))
+ return points if versions == 1 else max(points, min(points ** min(versions, 51), MANY))""",
    ): "2 to the power of 50 is above MANY already",
}
"""By a file of the package, and what `mutants` prints of a survivor in it: the reason. Lines may move."""
