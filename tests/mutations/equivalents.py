"""Mutants that no test can catch, because nothing changes for anybody, each with the reason."""

from __future__ import annotations

from dataclasses import dataclass

from tests.mutations.mutants import Mutant


@dataclass(frozen=True, slots=True)
class Equivalent:
    """Mutants of a function that look like this; `nth` only where others look the same and are none."""

    file: str
    function: str
    before: str
    after: str
    reason: str
    nth: int | None = None

    def matches(self, mutant: Mutant) -> bool:
        place = (
            mutant.file.as_posix().removeprefix("membership_client/") == self.file and mutant.function == self.function
        )
        same = (mutant.before, mutant.after) == (self.before, self.after)
        return place and same and self.nth in {None, mutant.nth}


EQUIVALENTS: tuple[Equivalent, ...] = (
    Equivalent(
        "core/leaving.py",
        "is_telling",
        "departure is not None and departure.telling_since is not None and (departure.outcome is None)",
        "departure is not None and departure.telling_since is not None and True",
        "A departure ends in the step that gives it an outcome, before anything is looked for.",
    ),
    Equivalent(
        "core/classic_joining.py",
        "enforced",
        "member.state not in IN_GROUP or member.classic.rejoin is not None",
        "False or member.classic.rejoin is not None",
        "Every start makes a new Classic, so a wish of a member outside the group is forgotten.",
    ),
    Equivalent(
        "core/classic_protocol.py",
        "statement",
        "subscription is None or subscription.regex is None",
        "False or subscription.regex is None",
        "A member without a subscription leaves in the same step, and is asked for no statement; the types need the check.",
    ),
    Equivalent(
        "core/callbacks.py",
        "_healed",
        "over and member.state is not S.FATAL",
        "over and True",
        "Whom a failed callback ended gave everything back first: no callback returns after that.",
    ),
    Equivalent(
        "core/machine.py",
        "_on_doubted",
        "member.coordinator is not None and member.coordinator == event.node",
        "True and member.coordinator == event.node",
        "A node that is doubted is never None.",
    ),
    Equivalent(
        "core/callbacks.py",
        "run",
        "1",
        "2",
        "Ids only have to be new, by how much means nothing.",
    ),
    Equivalent(
        "core/requests.py",
        "send",
        "1",
        "2",
        "Ids only have to be new, by how much means nothing.",
    ),
    Equivalent(
        "core/joining.py",
        "_adopt",
        "1",
        "2",
        "Numbers of targets only have to grow, by how much means nothing.",
    ),
    Equivalent(
        "core/classic_joining.py",
        "_adopt",
        "1",
        "2",
        "Numbers of targets only have to grow, by how much means nothing.",
    ),
    Equivalent(
        "core/classic_joining.py",
        "_rejoin",
        "1",
        "2",
        "Numbers of targets only have to grow, by how much means nothing.",
    ),
    Equivalent(
        "core/contest.py",
        "_measured",
        "told > 0",
        "told >= 0",
        "Zero is no time that was told: the operand before it is false.",
    ),
    Equivalent(
        "core/leading.py",
        "admitted",
        "0.0",
        "1.0",
        "A time that has always passed: no clock stands at its first second.",
    ),
    Equivalent(
        "core/leading.py",
        "_looks",
        "0.0",
        "1.0",
        "A time that has always passed: no clock stands at its first second.",
    ),
    Equivalent(
        "core/pulse.py",
        "_keeps_waiting",
        "member.epoch > 0",
        "member.epoch >= 0",
        "Who is in the group and owns something has an epoch: a fence and a leave end all three.",
    ),
    Equivalent(
        "core/pulse.py",
        "_keeps_waiting",
        "may_be_held_back(member.dialogue) and bool(member.owned) and (member.epoch > 0) and (member.state in IN_GROUP)",
        "may_be_held_back(member.dialogue) and bool(member.owned) and True and (member.state in IN_GROUP)",
        "Who is in the group and owns something has an epoch: a fence and a leave end all three.",
    ),
    Equivalent(
        "core/classic_joining.py",
        "_awaits_topics",
        "member.subscription is not None and member.subscription.regex is not None",
        "True and member.subscription.regex is not None",
        "A member without a subscription leaves in the same step, and joins nothing; the types need the check.",
    ),
    Equivalent(
        "core/classic_joining.py",
        "joined",
        "not is_entering(member) or flight.claims is None",
        "not is_entering(member) or False",
        "Every join is sent with claims; the types need the check.",
    ),
    Equivalent(
        "core/joining.py",
        "_next_gap",
        "gap_s < member.interval_s * LATE_FRACTION",
        "gap_s <= member.interval_s * LATE_FRACTION",
        "A fiftieth that grows by 1.08 each time is never exactly a tenth.",
    ),
    Equivalent(
        "core/assignors/sticky_equal.py",
        "_hand_back",
        "len(taken[topic]) < counts[topic]",
        "(left out)",
        "It only spares time: of a topic that is taken as a whole nothing is left.",
    ),
    Equivalent(
        "core/coordinator.py",
        "_refused",
        "group_id=member.config.group_id",
        "group_id=None",
        "The sentence about a denial looks at the type of the request only.",
    ),
    Equivalent(
        "core/assignors/ladder.py",
        "Ladder.is_even",
        "self._rungs[-1] // members",
        "self._rungs[-1] * members",
        "It only spares a round: without it the first round that moves nothing is the last.",
    ),
    Equivalent(
        "core/classic_joining.py",
        "_adopt",
        "takes_away and cooperates(member)",
        "takes_away and True",
        "An eager member owns nothing when a plan comes, so nothing is taken from it.",
    ),
    Equivalent(
        "core/pulse.py",
        "answered",
        "isinstance(response, Refused) and code in _GIVEN_UP",
        "True and code in _GIVEN_UP",
        "Only what was refused has a code; the types need the check.",
    ),
    Equivalent(
        "core/assignors/sticky_equal.py",
        "_trim",
        "len(share) > keep",
        "len(share) >= keep",
        "Of a share that is kept as a whole nothing is given up, and its order means nothing.",
    ),
    Equivalent(
        "core/assignors/racks.py",
        "Neighbourhood.of",
        "rack",
        "(left out)",
        "No partition is in a rack without a name, so such a rack is worth no matching.",
    ),
    Equivalent(
        "core/assignors/near_filling.py",
        "fill_near",
        "rack",
        "(left out)",
        "No partition is in a rack without a name, so its members are never asked for.",
    ),
    Equivalent(
        "core/classic_joining.py",
        "_rejoins",
        "member.target is not None and member.target.partitions == keepable(member)",
        "True and member.target.partitions == keepable(member)",
        "In these states there is a target; the types need the check.",
    ),
    Equivalent(
        "core/assignors/sticky_equal.py",
        "_hand_back",
        "len(taken[topic]) < counts[topic]",
        "len(taken[topic]) <= counts[topic]",
        "It only spares time: of a topic that is taken as a whole nothing is left.",
    ),
    Equivalent(
        "core/assignors/range_assignor.py",
        "assign_range",
        "member.rack or None",
        "member.rack or False",
        "Racks are only asked whether they are none.",
    ),
    Equivalent(
        "core/classic_joining.py",
        "_join",
        "member.enrolled or known",
        "False or known",
        "The coordinator counts on no classic member to which it gave no id, unless that has an instance id.",
    ),
    Equivalent(
        "core/callbacks.py",
        "_failed",
        "member.config.callback_errors == 'leave' and kind is not CallbackKind.LOST",
        "member.config.callback_errors == 'leave' and True",
        "No lost callback runs while a member reconciles.",
    ),
    Equivalent(
        "core/leading.py",
        "admitted",
        "leads and (not makes_plan(admission)) and (admission.strategy in BUILT_IN)",
        "True and (not makes_plan(admission)) and (admission.strategy in BUILT_IN)",
        "Who does not lead has no plan that could be compared with the topics.",
    ),
    Equivalent(
        "core/topic_check.py",
        "_in_question",
        "member.subscription is None or not _is_by_name(member)",
        "False or not _is_by_name(member)",
        "Without a subscription there is none by name; the types need the check.",
    ),
    Equivalent(
        "core/assignors/evening.py",
        "Evening.even_out",
        "1",
        "2",
        "It is only asked whether there were moves.",
    ),
    Equivalent(
        "core/assignors/range_racks.py",
        "racks_matter",
        "any(racks) and any((_matters(topics[topic], wanting, racks) for topic, wanting in wanted.items()))",
        "True and any((_matters(topics[topic], wanting, racks) for topic, wanting in wanted.items()))",
        "It only spares time: without racks of members no topic's racks matter.",
    ),
    Equivalent(
        "core/classic_joining.py",
        "_follows_up",
        "member.state is S.ACK and member.target is not None and member.target.follow_up",
        "member.state is S.ACK and True and member.target.follow_up",
        "In ACK there is a target; the types need the check.",
    ),
    Equivalent(
        "core/classic_joining.py",
        "_was_passed_over",
        "calm_at is None or now - calm_at >= member.poll_interval_s",
        "False or now - calm_at >= member.poll_interval_s",
        "A member that owns something has had a plan, which set the time; the types need the check.",
    ),
    Equivalent(
        "core/classic_joining.py",
        "_wish",
        "member.classic.rejoin is None and stated is not None and (member.stated is not None)",
        "member.classic.rejoin is None and stated is not None and True",
        "In the states that ask for a wish the member has joined, so it has stated something; the types need the check.",
    ),
    Equivalent(
        "core/classic_joining.py",
        "compared",
        "rebalances and (not theirs) and (since is not None) and (now < since + MISMATCH_PATIENCE_S)",
        "rebalances and (not theirs) and True and (now < since + MISMATCH_PATIENCE_S)",
        "The time is set before the group is described; the types need the check.",
    ),
    Equivalent(
        "core/classic_joining.py",
        "_expires",
        "waits and (not member.owned) or not holds or member.confirmed_at is None",
        "waits and (not member.owned) or not holds or False",
        "A member in these states was let in, which was a confirmation; the types need the check.",
    ),
    Equivalent(
        "core/joining.py",
        "_reason",
        "member.state is S.FENCED and member.cause is not None",
        "member.state is S.FENCED and True",
        "A fence always has a cause; the types need the check.",
    ),
    Equivalent(
        "core/joining.py",
        "_says_all",
        "subscription is None or member.state is S.LEAVING",
        "False or member.state is S.LEAVING",
        "Only a leaving member has no subscription; the types need the check.",
    ),
    Equivalent(
        "core/joining.py",
        "_beat",
        "member.state is S.LEAVING or subscription is None",
        "member.state is S.LEAVING or False",
        "Only a leaving member has no subscription; the types need the check.",
    ),
    Equivalent(
        "core/joining.py",
        "accepted",
        "member.state in IN_GROUP and flight.claims is not None",
        "member.state in IN_GROUP and True",
        "Only a leaving member sends heartbeats without claims; the types need the check.",
    ),
    Equivalent(
        "core/joining.py",
        "_expect_more",
        "gap < member.interval_s",
        "gap <= member.interval_s",
        "A fiftieth that grows by 1.08 and then by 1.5 is never exactly the whole.",
    ),
    Equivalent(
        "core/leading.py",
        "_compares",
        "classic.check_at is None or classic.planned_by is None or classic.admission is not None",
        "classic.check_at is None or False or classic.admission is not None",
        "As long as the topics are not known, looking at them is due as early, comes first, and takes the same slot.",
    ),
    Equivalent(
        "core/leaving.py",
        "_confirmation",
        "isinstance(flight.request, Heartbeat) and flight.request.epoch == -1",
        "True and flight.request.epoch == -1",
        "A farewell is a LeaveGroup, which was handled before, or a heartbeat; the types need the check.",
    ),
    Equivalent(
        "core/leaving.py",
        "callback_deadline",
        "at is None or granted_s is None",
        "False or granted_s is None",
        "Only a close grants callbacks a time of their own, and a close has an end; the types need the check.",
    ),
    Equivalent(
        "core/leaving.py",
        "without_callback",
        "departure.give_up_at is None or departure.callback_timeout_s is None",
        "False or departure.callback_timeout_s is None",
        "Only a close grants callbacks a time of their own, and a close has an end; the types need the check.",
    ),
    Equivalent(
        "core/machine.py",
        "_settle",
        "raise AssertionError(f'no fixed point in state {member.state.name}')",
        "(left out)",
        "It is never reached, as long as the rules have no bug that makes them take turns.",
    ),
    Equivalent(
        "core/machine.py",
        "",
        "100",
        "101",
        "Rules settle after a handful of rounds, so both limits are as far away.",
    ),
    Equivalent(
        "core/machine.py",
        "_on_subscribe",
        "member.problem is not None and (not may_resubscribe(member.problem))",
        "True and (not may_resubscribe(member.problem))",
        "A member that ended has a problem; the types need the check.",
    ),
    Equivalent(
        "core/machine.py",
        "_on_close",
        "subscription=None",
        "(left out)",
        "A member that closes says nothing of its subscription and starts nothing again.",
    ),
    Equivalent(
        "core/machine.py",
        "_on_answered",
        "event.throttle_s > 0",
        "event.throttle_s >= 0",
        "Waiting until now is no wait.",
    ),
    Equivalent(
        "core/machine.py",
        "_most_overdue",
        "at < found[0]",
        "at <= found[0]",
        "Requests that are late at the same moment are all timed out in the same step.",
    ),
    Equivalent(
        "core/machine.py",
        "_time_out",
        "effects += more",
        "(left out)",
        "A request that times out ends a member only during a join, when no callback runs that must be told.",
    ),
)
