"""A plan and its predictions as text for a terminal."""

from inputs import exact, plain

_GROUPS = [
    ("Requests", ("vends", "vends_peak", "uploads", "uploads_peak", "copies", "copies_peak", "renewals_peak", "requests_peak")),
    ("STS", ("sts_peak", "roles")),
    ("CPU at peak", ("worker_vends", "worker_uploads", "worker_renewals", "worker_wakes", "worker_cores", "nginx_wakes",
                     "nginx_cores", "redis_wakes", "redis_cores")),
    ("Redis", ("redis_shared_commands", "redis_stream_commands", "redis_operations", "redis_records", "redis_limits",
               "redis_credentials", "redis_audit_stream", "redis_event_stream", "redis_memory", "redis_primaries")),
    ("S3", ("s3_writes_peak", "prefixes")),
    ("Machines", ("workers", "hosts", "redis_hosts")),
    ("Caches of workers", ("cache_entries", "cache_maximum")),
    ("Money", ("dollars_copies", "dollars_uploads", "dollars_hosts", "dollars_redis", "dollars")),
]


def groups(plan):
    """(title, quantities) in the order of reading."""
    by_name = {each.name: each for each in plan.quantities}
    return [(title, [by_name[name] for name in names]) for title, names in _GROUPS]


def amount(value, unit):
    """A result with its unit; dollars to the cent."""
    if unit.startswith("$"):
        return f"{value:,.2f} {unit}"
    return f"{plain(value)} {unit}".rstrip()


def input_amount(each):
    """An input with its unit, not rounded: a price may be a part of a cent."""
    return f"{exact(each.value)} {each.unit}".rstrip()


def plan_text(plan):
    lines = []
    for title, quantities in groups(plan):
        lines += [title]
        lines += [f"  {each.title:<52} {amount(each.value, each.unit):>18}   = {each.formula}" for each in quantities]
        lines += [""]
    lines += ["Limits at peak"]
    for each in plan.limits:
        lines += _limit(each)
        if not each.is_hit and each.name == "sts" and plan.roles > 1:
            lines += [f"  with {plan.roles - 1} of vending.roles besides vending.roleARN"]
    lines += ["", "Made of"]
    for each in plan.all_inputs():
        source = f"   {each.source}" if each.source else ""
        lines += [f"  [{each.origin}] {each.name} = {input_amount(each)}{source}"]
    return "\n".join(lines)


def _limit(each):
    lines = [f"  {each.title:<52} {plain(each.used):>9} of {plain(each.allowed)}{each.unit}, {each.share:.0%}"]
    return [*lines, f"  HIT: {each.way_out}"] if each.is_hit else lines


def prediction_text(prediction):
    lines = [f"At {plain(prediction.rate)} requests/s, {prediction.workers} "
             f"worker{'s' if prediction.workers > 1 else ''}, {prediction.cached:.0%} from the cache"]
    for name, value, unit in prediction.rows():
        lines.append(f"  {name:<44} {amount(value, unit):>16}")
    if prediction.is_past_knee:
        lines.append(f"  PAST THE KNEE: {prediction.knee_reason}")
    return "\n".join(lines)


def hour_text(hour):
    lines = [f"The busiest hour, {plain(hour.vends)} vends, seed {hour.seed}", ""]
    lines += [f"  {at // 60:>2}:{at % 60:02} {what}" for at, what in hour.events]
    if hour.hit:
        lines += ["", "Limits at peak that are hit", *(line for each in hour.hit for line in _limit(each))]
    lines += ["", f"  {'queue':<40} {'greatest':>12} {'':<9} {'at':>6} {'settled':>9}"]
    for each in hour.queues:
        settled = "never" if each.settled is None else f"{int(each.settled) // 60}:{int(each.settled) % 60:02}"
        at = f"{int(each.greatest_at) // 60}:{int(each.greatest_at) % 60:02}"
        lines.append(f"  {each.title:<40} {plain(round(each.greatest, 3)):>12} {each.unit:<9} {at:>6} {settled:>9}")
        if each.grows:
            lines.append(f"  GROWS: {each.reason}")
    lines += ["", f"  vends served {plain(hour.served)}, answered 503 {plain(hour.refused)}, "
                  f"throttled calls of STS {plain(hour.throttled)}"]
    return "\n".join(lines)
