"""The rows of a benchmark's table."""

import math
import statistics
import sys


def row(name, values, unit, target, met, note):
    """`met` is None if there is no target."""
    low, high = interval(values) if len(values) > 1 else (None, None)
    return {"name": name, "median": statistics.median(values), "low": low, "high": high,
            "rounds": str(len(values)), "unit": unit, "target": target, "met": met, "note": note}


def ratios(name, loads, numerator, denominator, target=None, cpu_target=None):
    """Two rows: of the answers a second, and of the processor time that each takes."""
    rows = []
    for part, title, unit, bound, is_met in (
            (0, name, "{:,.0f}/s", target, lambda ratio: ratio >= target),
            (1, "  processor time", "{:.2f} µs", cpu_target,
             lambda ratio: ratio <= cpu_target)):
        over, under = ([each[part] for each in loads[key]] for key in (numerator, denominator))
        values = [one / other for one, other in zip(over, under)]
        note = " ÷ ".join(unit.format(statistics.median(each)) for each in (over, under))
        if bound is None:
            rows.append(row(title, values, "", "", None, note))
        else:
            rows.append(row(title, values, "", f"{'≤' if part else '≥'} {bound}",
                            is_met(statistics.median(values)), note))
    return rows


def interval(values):
    """A 95 % interval of the median, by order statistics (Conover, Practical Nonparametric
    Statistics, section 3.2): of eight values or fewer, the least and the greatest."""
    ordered = sorted(values)
    first = max(0, round(len(ordered) / 2 - 0.98 * math.sqrt(len(ordered))) - 1)
    return ordered[first], ordered[-1 - first]


def print_table(rows):
    head = ("measure", "median", "low", "high", "", "rounds", "target", "", "from")
    lines = [head]
    for each in rows:
        verdict = {True: "met", False: "MISSED", None: ""}[each["met"]]
        lines.append((each["name"], *figures(each), each["unit"], each["rounds"], each["target"],
                      verdict, each["note"]))
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def figures(each):
    return ["" if each[key] is None else f"{each[key]:.3g}" for key in ("median", "low", "high")]


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
