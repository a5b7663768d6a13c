"""The bug zoo as a page: report → trace → claim → mutant."""

from markstep.conformance.mutants.catalogue import read_catalogue
from markstep.conformance.show import show_program
from markstep.conformance.suite.zoo.reports import Report, reports, trace_of
from markstep.spec.invariants import CLAIMS

PLACE = "conformance/suite/zoo"


def zoo_page() -> str:
    """The whole page."""
    every = reports().values()
    shown = [report for report in every if not report.left_out]
    left = [report for report in every if report.left_out]
    rows = [f"| {r.id} | [{r.source}]({r.link}) | {r.left_out} |" for r in left]
    return (
        "# The bug zoo\n\n"
        f"{len(shown)} of {len(shown) + len(left)} reports about real executors fit the law as it "
        "is: each has a trace in\n"
        f"`{PLACE}/`, with the claims that catch what went wrong and the mutants\n"
        "(`markstep mutants`) that bring it back. The traces are run against the law and the\n"
        "reference executor in the tests, and by\n"
        f"hand with `markstep replay {PLACE} --adapter …`. *Live*: the trace breaks one of the "
        "claims\n"
        "also under the design `torch_xla_2_9`.\n\n"
        + "\n".join(map(entry, shown))
        + "\n## Reports that do not fit\n\n| id | report | why |\n|---|---|---|\n"
        + "\n".join(rows)
        + "\n"
    )


def entry(report: Report) -> str:
    """One report that fits."""
    lies = [mutant for mutant in read_catalogue().values() if report.id in mutant.bugs]
    told = [f"  - {mutant.id}: {mutant.says}" for mutant in lies]
    claims = [f"  - [{id}](invariants.md#{id}): {CLAIMS[id].statement}" for id in report.claims]
    live = "; *live*" if report.live else ""
    return "\n".join(
        [
            f'## <a id="{report.id}"></a>{report.id}: {report.says}\n',
            f"{report.kind}; [{report.source}]({report.link}){live}. {report.mechanism}\n",
            f"```\n{show_program(trace_of(report).actions)}\n```\n",
            "- caught by",
            *claims,
            *(["- brought back by", *told] if told else []),
            "",
        ]
    )
