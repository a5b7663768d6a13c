"""A failed execution loses nothing: every placeholder gives its recipe back.

Source: semantics.md §6 (58, 59, 71, 72); torch_xla leaves such placeholders empty for ever.
"""

from markstep.impl.execution import Execution
from markstep.impl.node import Buffer, Node, new_node
from markstep.impl.partitioned import as_promised
from markstep.impl.record import Record


def give_back(live: list[Record], execution: Execution) -> None:
    """Undo the installation of the results, and store the error with whom it concerns.

    Each live record that showed one of the placeholders, as handle, leaf or deep in its graph,
    is pending again and carries the failure, unless a waiting call takes it.
    """
    returned = {
        placeholder: placeholder.recipe
        for placeholder in execution.placeholders
        if placeholder.recipe is not None
    }
    rebuilt: dict[Node, Node] = {}
    for record in live:
        concerned = _restore(record, returned, rebuilt)
        # an older failure is told first; one of them is enough to know
        if concerned and not execution.waited and record.failure is None:
            record.failure = execution.failure
    for placeholder in returned:
        placeholder.recipe = None


def _restore(record: Record, returned: dict[Buffer, Node], rebuilt: dict[Node, Node]) -> bool:
    """Put the recipe in place of a placeholder; whether the record had anything to do with it."""
    shown = record.handle
    if shown is None and type(record.ir) is Buffer:
        shown = record.ir
    if shown is not None:
        if shown not in returned:
            return False
        node = returned[shown]
        record.set_ir(node if record.spec is None else as_promised(node, record.spec))
        return True
    if record.ir is None:
        return False
    replacement = _substitute(record.ir, returned, rebuilt)
    changed = replacement is not record.ir
    record.ir = replacement
    return changed


def _substitute(root: Node, returned: dict[Buffer, Node], rebuilt: dict[Node, Node]) -> Node:
    """The graph of ``root`` with leaves over placeholders replaced by their recipes.

    Nodes that reach no such leaf stay themselves; shared nodes stay shared, across calls with
    one ``rebuilt``.
    """
    stack = [root]
    while stack:
        node = stack[-1]
        missing = [operand for operand in node.operands if operand not in rebuilt]
        if missing:
            stack += missing
            continue
        stack.pop()
        if node not in rebuilt:
            rebuilt[node] = _rebuild(node, returned, rebuilt)
    return rebuilt[root]


def _rebuild(node: Node, returned: dict[Buffer, Node], rebuilt: dict[Node, Node]) -> Node:
    if isinstance(node, Buffer):
        return returned.get(node, node)
    operands = tuple(rebuilt[operand] for operand in node.operands)
    if all(new is old for new, old in zip(operands, node.operands, strict=True)):
        return node
    return new_node(node.op, operands, node.aval)
