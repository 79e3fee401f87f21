"""The run: start the parts, measure in turns, compare."""

import collections
import statistics
import sys

import backups
import cluster
import costs
import crowds
import failover
import generator
import instructions
import kit
import load
import measure
import model
import mutation
import operations
import preflights
import renewals
import report
import retention
import sharing
import simulation
import statuses
import tiers
import web
import wires
from limits import BROUGHT_ALONG, NOT_IN_QUICK
from processes import NotMeasured, memory_megabytes
from redis import RedisCounter
from scenarios import all_scenarios, rs256_scenarios

_SLOW_MILLISECONDS = 50
_COPIES_AT_ONCE = 128       # what a worker has under way by default
_WITH_RECORDS, _WITHOUT_RECORDS = "vend_cached", "vend_cached_without_records"
_COMPARED_WITH_FLOORS = ("floors", "healthz", "vend_cached", "vend_sts")
# What begins a round, so that each stands beside the floor it is compared with; every other round goes backwards.
_BESIDE_FLOORS = ("floor_f1", "healthz", "floor_f2", "vend_cached", "floor_f1", "vend_sts")


class Bench:
    """One run's plan and what it has found so far."""

    def __init__(self, parts, only, quick, counter, smoke=False):
        self.parts = parts
        self.only = only
        self.rounds = 2 if quick else 5
        self.is_quick = quick
        self.seconds = 1 if quick else 2
        self.starts = 3 if quick else 7
        self.counts = 1 if quick else 3
        self.instruction_counts = 1 if quick else 3
        self.backup_rounds = 1 if quick else 5
        self.failovers = 1 if quick else 3
        self.cluster_pairs = 4 if quick else 8
        self.model_seconds = 2 if quick else 10     # five rounds at each of three rates
        self.status_seconds = 8 if quick else 12
        self.crowd_pairs = 2 if quick else 5
        self.page_rounds = 2 if quick else 5
        self.beside_seconds = 4 if quick else 8
        self.checked_keys = 10_000 if quick else 100_000
        self.warm_up = not quick
        self.smoke = smoke
        self.left_out = NOT_IN_QUICK if quick and only is None else frozenset()
        self.tiers_size = tiers.SMOKE if smoke else tiers.QUICK if quick else tiers.FULL
        self.retention_size = retention.SMOKE if smoke else retention.QUICK if quick else retention.FULL
        self.wants_costs = only in ("costs", "model") or only is None and not quick
        wanted = set(costs.SCENARIOS) if only in ("costs", "model") else {only} | BROUGHT_ALONG.get(only, set())
        self.scenarios = [each for each in all_scenarios()
                          if only is None or (each.part_of or each.name) in wanted or each.floor and only in _COMPARED_WITH_FLOORS]
        self.measured = collections.defaultdict(list)
        self.turns = []                                 # of each round: [(scenario's name, result)], in order
        self.more = collections.defaultdict(dict)       # syscalls, rss, peak
        self.values = {}
        self.faults = []
        self.notes = []
        self.costs = None                               # of the file that --save-costs writes
        self.counter = None if smoke or only in (
            "instructions", "tiers", "retention", "costs", "model", "mutation", "simulation") else self._try(load.counter, counter)

    def run(self):
        if self._wants("vend_rs256"):
            self.scenarios += self._try(rs256_scenarios, self.parts) or []
        if self._wants("mutation"):
            self._try(self._mutation)
        if self._wants("simulation"):
            self._try(self._simulation)
        if self.only in ("mutation", "simulation"):
            return
        if self.only == "tiers":
            self._tiers()
            return
        if self.only == "retention":
            self._retention()
            if self.smoke:
                self.notes.append("release_100: left out, for its rounds of load.")
                return
        redis = self.parts.start_redis()
        if self.only == "instructions":
            self._try(self._instructions)
            return
        self.canned, canned_worker = self.parts.start_canned()
        self.slow = self.parts.start_slow(_SLOW_MILLISECONDS)
        if self._wants("start"):
            self._try(self._start)
        for name, value, step in (("expiry", "sts_calls_per_subject_at_expiry", sharing.at_expiry),
                                  ("subjects", "sts_calls_per_100_subjects", sharing.for_few_subjects)):
            if self._wants(name) and (calls := self._try(step, self.parts, self.slow)) is not None:
                self.values[value] = calls
        if self._wants("redis"):
            self._try(self._failover)
            self._try(self._cluster)
        if self._wants("clients"):
            self._try(self._crowds)
            self._try(self._wires)
            self._try(self._preflights)
            self._try(self._page)
        if self._wants("load"):
            self._try(self._generator)
        if self._wants("operations"):
            self._try(self._status)
        if self._wants("renew_beside"):
            self._try(self._beside)
        if self._wants("renew_false"):
            self._try(self._false_outcomes)
        if self._wants("kit"):
            self._try(self._kit_refreshes)
            self._try(self._kit_sessions)
            self._try(self._kit_renewal)
            self._try(self._kit_listing)
            self._try(self._kit_lines)
        if self._wants("backup"):
            self._try(self._backup)
        if self._wants("tiers"):
            self._tiers()
        if self._wants("retention"):
            self._retention()
        if self._wants("operations"):
            self._try(self._packages)
        self.backends = {each.name: process for each in self.scenarios if (process := self._try(self._backend, each))}
        self.scenarios = [each for each in self.scenarios if each.name in self.backends]
        if not self.scenarios:
            return
        self.ports, front = self.parts.start_front({each.name: each.keeps_connections for each in self.scenarios})
        self.files = {each.name: each.write(self.parts.run) for each in self.scenarios}
        self.watched = {each.name: {"worker": self.backends[each.name].pid, "nginx": front, "redis": redis,
                                    "upstream": canned_worker} for each in self.scenarios}
        self.scenarios = [each for each in self.scenarios
                          if self._try(lambda each=each: each.check(self.ports[each.name]) or True)]
        self._rounds()
        if self.wants_costs:
            self._try(self._costs)
        if self.costs and self._wants("model"):
            self._try(self._model)
        self._syscalls()
        self._try(self._syscalls_of_records)

    def _wants(self, scenario):
        return self.only == scenario or self.only is None and scenario not in self.left_out

    def _try(self, step, *arguments):
        """What `step` gives, or None when it could not be measured; then the reason is kept."""
        try:
            return step(*arguments)
        except (NotMeasured, OSError) as fault:
            self.faults.append(str(fault))
            print(f"fault: {fault}", file=sys.stderr, flush=True)
            return None

    def _mutation(self):
        share, note = mutation.survived()
        self.values["mutation_survived_share"] = share
        self.notes.append(note)

    def _simulation(self):
        print("simulating", flush=True)
        values, notes = simulation.measure(self.parts.run)
        self.values |= values
        self.notes += notes

    def _failover(self):
        gap, lost = failover.gaps(self.parts, self.canned, self.failovers)
        self.values["redis_failover_gap_over_server_gap"] = gap
        self.values["over_admitted_over_acknowledged"] = lost

    def _cluster(self):
        print("vending on a cluster of Redis beside one", flush=True)
        self._median("vend_cached_cpu_cluster_over_single",
                     cluster.over_single(self.parts, self.canned, self.cluster_pairs, self.seconds))

    def _crowds(self):
        print("sending what thousands of clients send at once", flush=True)
        values, notes = crowds.measure(self.parts, self.slow, self.crowd_pairs, self.seconds)
        self.values |= values
        self.notes += notes

    def _wires(self):
        print("vending in STS' own wire beside JSON", flush=True)
        self._median("sts_wire_cpu_over_sts_token",
                     wires.sts_over_json(self.parts, self.canned, self.cluster_pairs, self.seconds))

    def _preflights(self):
        print("sending preflights of browsers", flush=True)
        requests, sent = preflights.worker_requests(self.parts, self.canned)
        self.values["preflight_worker_requests"] = requests
        self.notes.append(f"preflights: the worker counted {requests:,} requests while nginx responded to {sent:,}.")

    def _page(self):
        print("uploading by the page beside curl", flush=True)
        values, notes = web.measure(self.parts, self.page_rounds)
        self.values |= values
        self.notes += notes

    def _generator(self):
        print("sending a load beside wrk", flush=True)
        costs, own, ratios = generator.beside_wrk(self.parts, self.slow, self.cluster_pairs // 2, self.seconds)
        self.values |= {"load_cpu_us_per_request": statistics.median(costs),
                        "load_p50_over_wrk": statistics.median(ratios)}
        self.notes.append(generator.note(costs, own, ratios))

    def _status(self):
        taken, rate = statuses.milliseconds(self.parts, self.canned, self.status_seconds)
        self.values["status_ms_p99"] = statuses.p99(taken)
        self.notes.append(statuses.note(taken, rate))

    def _backend(self, scenario):
        if scenario.floor:
            return self.parts.start_floor(scenario.name, scenario.floor)
        if not self.parts.worker:
            raise NotMeasured(f"{scenario.name}: there is no worker")
        return self.parts.start_worker(scenario.name, self.canned, credential_cache=scenario.credential_cache,
                                       chats=scenario.name == "release_100",
                                       records=scenario.records, public_key=scenario.public_key)

    def _start(self):
        if not self.parts.worker:
            raise NotMeasured("start: there is no worker")
        print("starting", flush=True)
        milliseconds, megabytes = measure.start_and_rest(self.parts, self.canned, self.starts)
        self.values["start_to_first_answer_ms"] = milliseconds
        self.values["rss_at_rest_mb"] = megabytes

    def _instructions(self):
        counter = instructions.Instructions(self.parts)
        for each in instructions.COUNTS:
            print(f"counting instructions of {each.scenario}", flush=True)
            counted = self._try(counter.per_request, each, self.instruction_counts)
            if counted:
                self.values[each.value] = round(statistics.median(counted.others))
                least, most = min(counted.others), max(counted.others)
                self.notes.append(f"{each.value}: {len(counted.others)} counts, {least:,.0f} to {most:,.0f}; in SHA-256's "
                                  f"block functions {counted.blocks:,.0f} more.")

    def _beside(self):
        print("renewing beside batches", flush=True)
        batch, alone, beside, megabytes = renewals.batches_and_single_keys(self.parts, self.slow, self.beside_seconds)
        self.values |= {"renew_100_p50_ms_at_50ms": batch, "renew_1_p99_beside_batches_over_alone": beside / alone,
                        "renew_rss_mb": megabytes}
        self.notes.append(f"renew_beside: while S3 takes {_SLOW_MILLISECONDS} ms, the p99 of one key is {alone:.0f} ms "
                          f"alone and {beside:.0f} ms beside 64 clients with batches of 100.")

    def _false_outcomes(self):
        print(f"renewing {self.checked_keys:,} keys under faults", flush=True)
        false, said, met = renewals.false_outcomes(self.parts, self.checked_keys)
        self.values["renew_false_outcomes"] = len(false)
        words = ", ".join(f"{count:,} {word}" for word, count in sorted(said.items()))
        self.notes.append(f"renew_false: of {sum(said.values()):,} keys it was said: {words}; S3 did badly "
                          f"{sum(met.values()):,} times, in {len(met)} ways. False: {', '.join(false[:5]) or 'none'}.")

    def _kit_refreshes(self):
        print("refreshing the kit's credentials", flush=True)
        self.values["refresh_requests_of_1000_callers"] = kit.refreshes_of_callers(self.parts)

    def _kit_sessions(self):
        print("continuing the kit's session", flush=True)
        self.values["session_requests_of_1000_callers"] = kit.session_requests_of_callers(self.parts)

    def _kit_renewal(self):
        print("renewing 10,000 assets with the kit", flush=True)
        requests, seconds = kit.renewal(self.parts)
        self.values |= {"renew_10000_assets_requests": requests, "renew_10000_assets_cpu_seconds": seconds}

    def _kit_listing(self):
        print("backing up five new photos beside 50,000", flush=True)
        self.values["listing_bytes_for_5_new_of_50000"] = kit.listing_for_new_photos(self.parts)

    def _kit_lines(self):
        self.values["app_lines_to_first_upload"] = kit.lines_to_first_upload()

    def _backup(self):
        print("backing up beside rclone", flush=True)
        ours, theirs, large, queued, direct = backups.beside_rclone(self.parts, self.backup_rounds)
        best, other = (min(each.seconds for each in usages) for usages in (ours, theirs))
        self.values["backup_time_over_rclone"] = best / other
        self._median("backup_cpu_over_rclone", [each.cpu / other.cpu for each, other in zip(ours, theirs)])
        self.values["backup_rss_mb"] = max(each.megabytes for each in [*ours, large])
        self.notes.append(backups.note(ours, theirs, large))
        self.values["outbox_1000_time_over_backup"] = (min(run.seconds for _, run in queued)
                                                       / min(each.seconds for each in direct))
        self.notes.append(backups.outbox_note(queued, direct))

    def _tiers(self):
        measured = self._try(tiers.Tiers, self.parts, self.tiers_size)
        if measured is None:
            return
        for title, step in (("opening photos that are not on the device, counting requests", measured.transfers),
                            ("tiering a year of photos beside rclone", measured.a_year),
                            ("opening photos that are on the device", measured.hot),
                            ("reading thumbnails", measured.thumbnails),
                            ("publishing snapshots", measured.snapshots),
                            ("making a catalog anew", measured.rebuild),
                            ("running with nothing to do", measured.idle),
                            ("moving photos out of a table", measured.migration)):
            print(title, flush=True)
            self._try(step)
        self.values |= measured.values
        self.notes += measured.notes

    def _retention(self):
        measured = self._try(retention.Retention, self.parts, self.retention_size)
        if measured is None:
            return
        for title, step in (("storing messages", measured.fill),
                            ("looking for the next deadline", measured.deadlines),
                            ("purging messages beside plain SQL", measured.purges),
                            ("purging beside another connection", measured.locks),
                            ("purging many conversations", measured.keys),
                            ("admitting messages beside plain SQL", measured.inserts),
                            ("looking for what is left of purged messages", measured.remnants),
                            ("running schedules of devices", measured.model),
                            ("waiting with nothing to do", measured.idle),
                            ("releasing images on Ceph", measured.images)):
            print(title, flush=True)
            self._try(step)
        self.values |= measured.values
        self.notes += measured.notes

    def _packages(self):
        print("building images and packages, and upgrading one under load", flush=True)
        values, notes = operations.packages(self.parts)
        self.values |= values
        self.notes += notes

    def _rounds(self):
        """Everything in turns, so that what disturbs the machine disturbs all alike."""
        if self.warm_up:
            print("warming up", flush=True)
            for each in self.scenarios:
                self._try(self._load, each)
        for number in range(self.rounds):
            print(f"round {number + 1} of {self.rounds}", flush=True)
            self.turns.append([])
            for each in self._order(number):
                if each not in self.scenarios or each.only_counted:
                    continue
                result = self._try(self._round, each)
                if result is None:
                    self.scenarios.remove(each)
                    continue
                self.turns[-1].append((each.name, result))
                self.measured[each.name].append(result)
                self.more[each.name]["rss"] = memory_megabytes(self.watched[each.name]["worker"])

    def _order(self, number):
        """The scenarios of a round; F1 comes twice."""
        named = {each.name: each for each in self.scenarios}
        order = [named[name] for name in _BESIDE_FLOORS if name in named]
        order += [each for each in self.scenarios if each.name not in _BESIDE_FLOORS]
        return order[::-1] if number % 2 else order

    def _round(self, scenario):
        redis = RedisCounter(self.parts.run / "redis.sock") if self.wants_costs else None
        before = redis and redis.commands()
        result = measure.one_round(scenario, self.ports[scenario.name], self.files[scenario.name], self.seconds,
                                   self.watched[scenario.name])
        if redis:
            result["commands"] = redis.commands() - before
        if scenario.keys:
            result["floor"] = measure.copy_floor(self.parts.binaries / "floor_curl", self.canned, _COPIES_AT_ONCE)
        backend = self.backends[scenario.name]
        if not backend.running():
            raise NotMeasured(f"{backend.name} ended: {backend.last_words()}")
        return result

    def _costs(self):
        """What deploy/simulate needs besides: what requests cost that meet no others, and what is kept in Redis."""
        print("measuring single requests, and Redis' memory", flush=True)
        named = {each.name: each for each in self.scenarios}
        missing = [name for name in costs.SCENARIOS if not self.measured[name]]
        if missing:
            raise NotMeasured(f"costs: {', '.join(missing)} could not be measured")
        results = {each["name"]: each for each in self.results()}
        failed = [name for name in costs.SCENARIOS if results[name]["errors"]]
        if failed:
            raise NotMeasured(f"costs: requests of {', '.join(failed)} failed")
        rates = costs.at_rates(self.parts, "vend_cached", self.ports["vend_cached"], self.watched["vend_cached"],
                               self.is_quick)
        redis = RedisCounter(self.parts.run / "redis.sock")
        keys, limit = costs.limit_keys(self.parts, redis, self.ports["vend_sts"], self.files["vend_sts"], 64)
        record = costs.record_bytes(self.parts, redis, "records", self.canned)
        self.parts.start_worker("sharing", self.canned, shares=True)
        ports, _ = self.parts.start_front({"sharing": True}, "front-costs")
        credential = costs.credential_bytes(self.parts, redis, lambda: named["vend_cached"].check(ports["sharing"]))
        self.costs = (results, {name: self.measured[name] for name in costs.SCENARIOS},
                      rates, keys, (record, limit, credential), redis.info("server", "redis_version"))

    def _model(self):
        print("comparing deploy/simulate with cloakroom load", flush=True)
        file = self.parts.state / "model-costs.json"
        file.write_text(costs.document(report.machine(), "as --save-costs", *self.costs))
        self.values["model_error_max"], notes = model.error_max(
            self.parts, self.canned, self.parts.run / "redis.sock", file, self.model_seconds)
        self.notes += notes

    def _load(self, scenario):
        return load.run(self.ports[scenario.name], self.files[scenario.name], scenario.connections, 1)

    def _syscalls(self):
        """Counted in rounds of their own: counting slows what it counts."""
        if self.counter is None:
            return
        print("counting system calls", flush=True)
        for each in self.scenarios:
            if not each.only_counted:
                counts = [self._try(load.count_syscalls, self.counter, self.watched[each.name]["worker"],
                                    self.parts.run, lambda each=each: self._load(each)) for _ in range(self.counts)]
                if None not in counts:
                    calls, waits = (statistics.median(column) for column in zip(*counts))
                    self.more[each.name] |= {"syscalls": calls, "waits": waits}

    def _syscalls_of_records(self):
        """Vending with users' records read and without, in turns, for one client.

        With many clients a turn of the loop serves several requests, and how many differs from run to run. With one
        there is nothing to share: another round trip would be a write and a read more for each request. Waits for
        events are left out: how often the loop wakes for nothing differs too.
        """
        pair = [each for each in self.scenarios if each.name in (_WITH_RECORDS, _WITHOUT_RECORDS)]
        if self.counter is None or len(pair) < 2:
            return
        counts = {each.name: [] for each in pair}
        for each in pair:
            load.run(self.ports[each.name], self.files[each.name], 1, 1)        # fills the cache
        for _ in range(self.counts):
            for each in pair:
                calls, waits = load.count_syscalls(
                    self.counter, self.watched[each.name]["worker"], self.parts.run,
                    lambda each=each: load.run(self.ports[each.name], self.files[each.name], 1, 1))
                counts[each.name].append(calls - waits)
        read, unread = (statistics.median(counts[name]) for name in (_WITH_RECORDS, _WITHOUT_RECORDS))
        self.values["syscalls_vend_cached_above_without_records"] = read - unread
        self.notes.append(f"vend_cached: for one client {read:.2f} system calls per request besides waits where users' "
                          f"records are read, {unread:.2f} where they are not.")

    def results(self):
        return [{"name": each.name, "title": each.title, "keys": each.keys, **measure.summary(self.measured[each.name]),
                 **self.more[each.name]} for each in self.scenarios if self.measured[each.name]]

    def compare(self):
        """The limits' values, of scenarios that were measured without an error."""
        found = {each["name"]: each for each in self.results()}
        for name, result in list(found.items()):
            if result["errors"]:
                self.faults.append(f"{name}: {result['errors']} of {result['requests']} requests failed")
                del found[name]
            busy = result["busy"]["upstream"]
            if busy > 0.9:
                self.notes.append(f"{name}: the canned upstream was busy {busy:.0%} of the time.")
        both = ("worker", "nginx")
        for name in ("healthz", "vend_cached", "vend_sts"):
            if name in found and "floor_f1" in found:
                self._median(f"{name}_w+n_over_F1", measure.ratios(self.turns, name, "floor_f1", both))
            if name in found and "syscalls" in found[name]:
                self.values[f"syscalls_{name}"] = found[name]["syscalls"]
        if "vend_rs256_fresh" in found and "vend_rs256_cached" in found:
            self.values["vend_rs256_fresh_token_us_above_cached"] = measure.microseconds_above(
                self.measured["vend_rs256_fresh"], self.measured["vend_rs256_cached"], "worker")
        if "healthz" in found and "floor_f2" in found:
            self._median("healthz_w_over_F2", measure.ratios(self.turns, "healthz", "floor_f2", ("worker",)))
        if "renew_100" in found:
            renewal = found["renew_100"]
            self.values["renew_100_cpu_per_key_us"] = renewal["key"]
            self.notes.append(f"renew_100: a key costs the worker {renewal['key']:.1f} µs; a copy in C through the same "
                              f"libcurl, nothing signed and nothing parsed, costs {renewal['floor']:.1f} µs.")
        if "release_100" in found:
            self.values["release_100_cpu_per_key_us"] = found["release_100"]["key"]

    def _median(self, name, ratios):
        """The median of pairs of rounds; their spread is noted."""
        if ratios:
            self.values[name] = statistics.median(ratios)
            self.notes.append(f"{name}: {self.values[name]:.3f} is the median of {len(ratios)} pairs, "
                              f"{min(ratios):.3f} to {max(ratios):.3f}.")
