"""The configuration of the workflow: checked against its JSON schema, and resolved for the rules."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

_TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
_RANGES = {
    "minimum": "at least {}",
    "exclusiveMinimum": "greater than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "minItems": "with at least {} entries",
    "maxItems": "with at most {} entries",
    "minLength": "with at least {} characters",
}


class ConfigurationError(ValueError):
    """One sentence per problem of a configuration."""


def load_schema(path: Path | str) -> dict[str, Any]:
    """Read a JSON schema from a file."""
    schema: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    return schema


def check(configuration: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Refuse a configuration that breaks the schema or contradicts itself.

    Parameters
    ----------
    configuration : mapping
        All keys, defaults and overrides merged.
    schema : mapping
        The JSON schema.

    Raises
    ------
    ConfigurationError
        With one sentence per problem: the key, what was found and what is allowed.
    """
    plain = json.loads(json.dumps(configuration, default=str))
    errors = sorted(Draft202012Validator(schema).iter_errors(plain), key=lambda e: list(map(str, e.path)))
    problems = [sentence for error in errors for sentence in _sentences(error)]
    # What contradicts what can only be asked about keys that are sound each for itself.
    if problems := problems or list(_contradictions(plain)):
        raise ConfigurationError("\n".join(dict.fromkeys(problems)))


def _sentences(error: ValidationError) -> Iterator[str]:
    where, found = _key(error.absolute_path), error.instance
    schema: Any = error.schema
    if error.validator == "additionalProperties":
        known = list(schema["properties"])
        for name in found.keys() - set(known):
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"allowed are {', '.join(known)}."
            yield f"Unknown key {_key([*error.absolute_path, name])}; {hint}"
    elif error.validator == "required":
        for name in set(schema["required"]) - found.keys():
            yield f"The key {_key([*error.absolute_path, name])} is missing."
    elif error.validator == "uniqueItems":
        yield f"{where} has an entry twice; its entries must differ."
    else:
        hint = " (YAML reads it as text; write 1.0e-7, not 1e-7)" if _is_number(found) else ""
        yield f"{where} is {_shown(found)}{hint}; allowed is {_allowed(schema)}."


def _key(path: Any) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".") or "The configuration"


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, str) and float(value) is not None
    except ValueError:
        return False


def _allowed(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join("null" if value is None else str(value) for value in schema["enum"])
    types = schema.get("type", [])
    names = [_TYPES[name] for name in ([types] if isinstance(types, str) else types)]
    ranges = [text.format(schema[name]) for name, text in _RANGES.items() if name in schema]
    return " ".join([" or ".join(names), " and ".join(ranges)]).strip()


def _contradictions(configuration: Mapping[str, Any]) -> Iterator[str]:
    adult, paper = configuration["adult"], configuration["lopuhaa2024"]
    if adult["source"] == "file" and adult["file"] is None:
        yield "adult.source is 'file' but adult.file is null; it must name the raw adult.data."
    for name in ("lopuhaa2024", "kairouz2016"):
        yield from _grid_contradictions(f"{name}.epsilon", configuration[name]["epsilon"])
    seen = set()
    for i, pair in enumerate(paper["pairs"]):
        names = pair["sensitive"], pair["public"]
        if names[0] == names[1]:
            yield f"lopuhaa2024.pairs[{i}] has {names[0]!r} twice; allowed are two different attributes."
        if names in seen:
            yield f"lopuhaa2024.pairs[{i}] repeats {names[0]}, {names[1]}; allowed is each pair once."
        seen.add(names)
    yield from _study_contradictions(paper["synthetic"])
    yield from _kairouz_contradictions(configuration["kairouz2016"])
    for paper_name, key in (("kalantari2018", "distortion"), ("liao2017", "shares")):
        axis = {**configuration[paper_name][key], "values": None, "spacing": "linear"}
        yield from _grid_contradictions(f"{paper_name}.{key}", axis)


def _study_contradictions(study: Mapping[str, Any]) -> Iterator[str]:
    key = "lopuhaa2024.synthetic"
    if study["reference"] not in study["epsilon"]:
        yield f"{key}.reference is {study['reference']}; allowed is one of {key}.epsilon."
    for place, blocks in (("blocks", study["blocks"]), ("table2.blocks", study["table2"]["blocks"])):
        names = set()
        solved = set()
        for i, block in enumerate(blocks):
            if block["name"] in names:
                yield f"{key}.{place}[{i}].name repeats {block['name']!r}; allowed is each name once."
            names.add(block["name"])
            size = block["sensitive"], block["public"]
            for mechanism in block["mechanisms"]:
                if (size, mechanism) in solved:
                    yield (
                        f"{key}.{place}[{i}].mechanisms repeats {mechanism} for {size[0]} x {size[1]}; "
                        "allowed is each mechanism once per size."
                    )
                solved.add((size, mechanism))


def _grid_contradictions(key: str, axis: Mapping[str, Any]) -> Iterator[str]:
    if axis["values"] is not None:
        return
    start, stop = axis["start"], axis["stop"]
    if not start < stop:
        yield f"{key}.stop is {stop}; allowed is a number greater than {key}.start, {start}."
    elif start == 0 and axis["spacing"] == "geometric":
        yield f"{key}.start is 0; allowed is a number greater than 0 when {key}.spacing is geometric."


def _kairouz_contradictions(paper: Mapping[str, Any]) -> Iterator[str]:
    pairs = {"scaling": paper["scaling"], **{f"expansions.{k}": v for k, v in paper["expansions"].items()}}
    for key, (first, second) in pairs.items():
        if not first < second:
            yield f"kairouz2016.{key} is [{first}, {second}]; allowed is the smaller number first."
    drawings = paper["drawings"]
    for name in ("p0", "p1"):
        if abs(math.fsum(drawings[name]) - 1.0) > 1e-9:
            total = f"{math.fsum(drawings[name]):.10g}"
            yield f"kairouz2016.drawings.{name} sums to {total}; allowed is a distribution, which sums to 1."
    if len(drawings["p0"]) != len(drawings["p1"]):
        yield (
            f"kairouz2016.drawings.p1 has {len(drawings['p1'])} entries; allowed are as many as p0 has,"
            f" {len(drawings['p0'])}."
        )


def grid(start: float, stop: float, points: int, spacing: str = "linear") -> list[float]:
    """Return `points` values from `start` to `stop`, both included, rounded to 10 significant digits.

    Equally spaced are the values themselves ("linear"), their square roots ("quadratic", more values at the
    low end) or their logarithms ("geometric").
    """
    match spacing:
        case "linear":
            values = np.linspace(start, stop, points)
        case "quadratic":
            values = np.linspace(start**0.5, stop**0.5, points) ** 2
        case "geometric":
            values = np.geomspace(start, stop, points)
        case _:
            raise ValueError(f"The spacing is {spacing!r}; allowed are linear, quadratic and geometric.")
    return [float(f"{value:.10g}") for value in values]


def _values(axis: Mapping[str, Any]) -> tuple[float, ...]:
    """Return the values of a grid, sorted, from its keys in the configuration."""
    rest = dict(axis)
    values: Sequence[float] = rest.pop("values") or grid(**rest)
    return tuple(sorted(map(float, values)))


@dataclass(frozen=True)
class Pair:
    """What determines the numbers of one (sensitive, public) pair of Figure 2, and its number of jobs."""

    sensitive: str
    public: str
    beta: float
    order: float
    mechanisms: tuple[str, ...]
    epsilons: tuple[float, ...]
    tolerance: float
    max_rounds: int
    chunks: int

    def settings(self) -> dict[str, Any]:
        """Return all but the number of jobs, as plain values for ``params`` and hashes."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items() if k != "chunks"}

    def chunk(self, index: int) -> dict[str, Any]:
        """Return the settings with every `chunks`-th epsilon: neighbours cost alike, so chunks do too."""
        return {**self.settings(), "epsilons": list(self.epsilons[index :: self.chunks])}


def pairs(configuration: Mapping[str, Any]) -> dict[tuple[str, str], Pair]:
    """Resolve the pairs of Figure 2 of lopuhaa2024 from a checked configuration.

    Returns
    -------
    dict
        By (sensitive, public), in the order of the configuration; a pair's own keys win over the common ones,
        and there are never more jobs than values of epsilon.
    """
    paper = configuration["lopuhaa2024"]
    values = _values(paper["epsilon"])
    resolved = {}
    for entry in paper["pairs"]:
        own = {**{key: paper[key] for key in ("chunks", "mechanisms")}, **entry}
        solver = {**paper["solver"], **entry.get("solver", {})}
        resolved[entry["sensitive"], entry["public"]] = Pair(
            sensitive=entry["sensitive"],
            public=entry["public"],
            beta=float(paper["beta"]),
            order=float(paper["order"]),
            mechanisms=tuple(own["mechanisms"]),
            epsilons=values,
            tolerance=float(solver["tolerance"]),
            max_rounds=solver["rounds"],
            chunks=min(own["chunks"], len(values)),
        )
    return resolved


@dataclass(frozen=True)
class Block:
    """One part of the synthetic study of lopuhaa2024: random tables of one size, and what is computed."""

    seed: int
    shape: tuple[int, int]
    records: int
    concentration: float
    order: float
    betas: tuple[float, ...]
    epsilons: tuple[float, ...]
    mechanisms: tuple[str, ...]
    tolerance: float
    max_rounds: int
    repetitions: int
    per_job: int

    @property
    def chunks(self) -> range:
        """Numbers of the jobs; the job of a table does not depend on how many tables there are."""
        return range(math.ceil(self.repetitions / self.per_job))

    def settings(self) -> dict[str, Any]:
        """Return what determines the numbers, as plain values for ``params`` and hashes."""
        own = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}
        del own["repetitions"], own["per_job"]
        return {**own, "instances": list(range(self.repetitions))}

    def chunk(self, index: int) -> dict[str, Any]:
        """Return the settings of one job."""
        first = index * self.per_job
        last = min(first + self.per_job, self.repetitions)
        return {**self.settings(), "instances": list(range(first, last))}


def studies(configuration: Mapping[str, Any]) -> dict[str, dict[str, Block]]:
    """Resolve the blocks of the synthetic study of lopuhaa2024 from a checked configuration.

    Returns
    -------
    dict
        "synthetic" (Figures 3 to 5) and "beta" (Table 2), each by the name of the block.
    """
    paper = configuration["lopuhaa2024"]
    study = paper["synthetic"]

    def block(entry: Mapping[str, Any], betas: Sequence[float], epsilons: Sequence[float]) -> Block:
        solver = {**paper["solver"], **entry.get("solver", {})}
        return Block(
            seed=configuration["seed"],
            shape=(entry["sensitive"], entry["public"]),
            records=study["records"],
            concentration=float(study["concentration"]),
            order=float(paper["order"]),
            betas=tuple(map(float, betas)),
            epsilons=tuple(sorted(map(float, epsilons))),
            mechanisms=tuple(entry["mechanisms"]),
            tolerance=float(solver["tolerance"]),
            max_rounds=solver["rounds"],
            repetitions=entry["repetitions"],
            per_job=entry.get("per_job", study["per_job"]),
        )

    table2 = study["table2"]
    return {
        "synthetic": {e["name"]: block(e, [paper["beta"]], study["epsilon"]) for e in study["blocks"]},
        "beta": {e["name"]: block(e, table2["betas"], [study["reference"]]) for e in table2["blocks"]},
    }


@dataclass(frozen=True)
class Population:
    """The random instances of kairouz2016, how they are cut into jobs, and what is computed for each."""

    seed: int
    concentration: float
    instances: int
    chunk: int
    sizes: tuple[int, ...]
    size: int
    epsilons: tuple[float, ...]
    scaling: tuple[float, ...]
    thresholds: tuple[str, ...]
    small: tuple[float, ...]
    large: tuple[float, ...]
    channels: int
    tolerance: float
    max_rounds: int

    @property
    def chunks(self) -> range:
        """Numbers of the jobs; the job of an instance does not depend on how many instances there are."""
        return range(math.ceil(self.instances / self.chunk))

    @property
    def drawn(self) -> dict[str, Any]:
        """What an instance is drawn from, for ``params``."""
        return {"seed": self.seed, "concentration": self.concentration}

    def numbers(self, chunk: int | None = None) -> list[int]:
        """Return the numbers of the instances of one job, or of all."""
        numbers = range(self.instances)
        return list(numbers if chunk is None else numbers[chunk * self.chunk : (chunk + 1) * self.chunk])

    def sweep(self, chunk: int | None = None) -> dict[str, Any]:
        """Return the arguments of a sweep but utility and size, for one job, or for all."""
        return {
            **self.drawn,
            "instances": self.numbers(chunk),
            "epsilons": list(self.epsilons),
            "tolerance": self.tolerance,
            "max_rounds": self.max_rounds,
        }


def population(configuration: Mapping[str, Any]) -> Population:
    """Resolve the instances of kairouz2016 from a checked configuration."""
    paper = configuration["kairouz2016"]
    return Population(
        seed=configuration["seed"],
        concentration=float(paper["concentration"]),
        instances=paper["instances"],
        chunk=paper["chunk"],
        sizes=tuple(sorted(paper["sizes"])),
        size=paper["size"],
        epsilons=_values(paper["epsilon"]),
        scaling=tuple(map(float, paper["scaling"])),
        thresholds=tuple(paper["thresholds"]),
        small=tuple(map(float, paper["expansions"]["small"])),
        large=tuple(map(float, paper["expansions"]["large"])),
        channels=paper["channels"],
        tolerance=float(paper["solver"]["tolerance"]),
        max_rounds=paper["solver"]["rounds"],
    )


def distortions(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Resolve the grid and the tolerance of kalantari2018 from a checked configuration."""
    paper = configuration["kalantari2018"]
    return {"distortions": grid(**paper["distortion"]), "tolerance": float(paper["tolerance"])}


@dataclass(frozen=True)
class HypothesisTest:
    """What determines the numbers of one set of hypotheses of liao2017."""

    instance: str
    shares: tuple[float, ...]
    named: tuple[float, ...]
    order: float
    w0: tuple[float, ...] | None
    grid: int
    tolerance: float | None

    def _common(self) -> dict[str, Any]:
        w0 = None if self.w0 is None else list(self.w0)
        return {"instance": self.instance, "w0": w0, "tolerance": self.tolerance}

    def sweep(self) -> dict[str, Any]:
        """Return the arguments of the sweep over leakages, as plain values."""
        return {**self._common(), "shares": list(self.shares), "order": self.order}

    def comparison(self) -> dict[str, Any]:
        """Return the arguments of the comparison at the leakages of interest, as plain values."""
        return {**self._common(), "fractions": list(self.named), "grid": self.grid}


def hypothesis_tests(configuration: Mapping[str, Any], resource: Path | str) -> dict[str, HypothesisTest]:
    """Resolve the hypotheses of liao2017 from a checked configuration.

    Parameters
    ----------
    configuration : mapping
    resource : path
        ``resources/liao2017.yaml``.

    Returns
    -------
    dict
        By a name fit for files, in the order of the resource.
    """
    paper = configuration["liao2017"]
    entries = yaml.safe_load(Path(resource).read_text(encoding="utf-8"))
    tolerances = {int(letters): value for letters, value in paper["tolerance"].items()}
    return {
        re.sub(r"[^a-z0-9]+", "_", entry["name"].lower()): HypothesisTest(
            instance=entry["name"],
            shares=tuple(grid(**paper["shares"], spacing="geometric")),
            named=tuple(sorted(paper["named"])),
            order=float(paper["order"]),
            w0=None if paper["w0"] is None else tuple(paper["w0"]),
            grid=paper["grid"],
            tolerance=tolerances.get(len(entry["hypotheses"][0])),
        )
        for entry in entries
    }
