"""The limits: what was promised, and which measured numbers meet it."""

import math

# Name, whether the value may be at most ("≤") or must be at least ("≥") the number, scenario it comes from.
LIMITS = [
    ("healthz_w+n_over_F1", "≤", 0.45, "healthz"),
    ("healthz_w_over_F2", "≤", 1.3, "healthz"),
    ("vend_cached_w+n_over_F1", "≤", 0.58, "vend_cached"),
    ("vend_sts_w+n_over_F1", "≤", 1.25, "vend_sts"),
    ("syscalls_healthz", "≤", 2.4, "healthz"),
    ("syscalls_vend_cached", "≤", 2.7, "vend_cached"),
    ("syscalls_vend_cached_above_without_records", "≤", 0.05, "vend_cached"),
    ("syscalls_vend_sts", "≤", 7, "vend_sts"),
    ("vend_rs256_fresh_token_us_above_cached", "≤", 35, "vend_rs256"),
    ("renew_100_cpu_per_key_us", "≤", 30, "renew_100"),
    ("release_100_cpu_per_key_us", "≤", 40, "release_100"),
    ("renew_100_p50_ms_at_50ms", "≤", 130, "renew_beside"),
    ("renew_1_p99_beside_batches_over_alone", "≤", 3, "renew_beside"),
    ("renew_rss_mb", "≤", 60, "renew_beside"),
    ("renew_false_outcomes", "≤", 0, "renew_false"),
    ("clients_1000_errors", "≤", 0, "clients"),
    ("clients_1000_in_flight", "≥", 1000, "clients"),
    ("clients_1000_rss_mb", "≤", 40, "clients"),
    ("rss_after_wave_over_rest", "≤", 1.5, "clients"),
    ("clients_10000_errors", "≤", 0, "clients"),
    ("clients_10000_missing_in_flight", "≤", 0, "clients"),
    ("clients_10000_rss_mb", "≤", 250, "clients"),
    ("clients_10000_cpu_over_1000", "≤", 1.2, "clients"),
    ("sts_wire_cpu_over_sts_token", "≤", 1.15, "clients"),
    ("preflight_worker_requests", "≤", 0, "clients"),
    ("web_upload_100_time_over_curl", "≤", 1.5, "clients"),
    # What of that is the page's: a browser's upload takes longer than curl's by any page.
    ("web_upload_100_time_over_bare_page", "≤", 1.15, "clients"),
    ("page_kb", "≤", 60, "clients"),
    ("sts_calls_per_subject_at_expiry", "≤", 1, "expiry"),
    ("sts_calls_per_100_subjects", "≤", 100, "subjects"),
    ("backup_time_over_rclone", "≤", 1.0, "backup"),
    ("backup_cpu_over_rclone", "≤", 0.6, "backup"),
    ("backup_rss_mb", "≤", 60, "backup"),
    ("outbox_1000_time_over_backup", "≤", 1.15, "backup"),
    ("redis_failover_gap_over_server_gap", "≤", 1.2, "redis"),
    ("over_admitted_over_acknowledged", "≤", 0.01, "redis"),
    ("vend_cached_cpu_cluster_over_single", "≤", 1.25, "redis"),
    ("load_cpu_us_per_request", "≤", 100, "load"),
    ("load_p50_over_wrk", "≤", 1.1, "load"),
    ("model_error_max", "≤", 0.15, "model"),
    ("rss_at_rest_mb", "≤", 20, "start"),
    ("start_to_first_answer_ms", "≤", 100, "start"),
    ("refresh_requests_of_1000_callers", "≤", 1, "kit"),
    ("session_requests_of_1000_callers", "≤", 1, "kit"),
    ("listing_bytes_for_5_new_of_50000", "≤", 65_536, "kit"),
    ("app_lines_to_first_upload", "≤", 15, "kit"),
    ("renew_10000_assets_requests", "≤", 100, "kit"),
    ("renew_10000_assets_cpu_seconds", "≤", 0.5, "kit"),
    ("tier_kept_over_evicted_bytes", "≤", 0.05, "tiers"),
    ("tier_due_not_evicted", "≤", 0, "tiers"),
    ("tier_10800_rss_mb", "≤", 48, "tiers"),
    ("tier_10800_rss_over_1000", "≤", 1.25, "tiers"),
    ("tier_time_over_rclone_copy", "≤", 1.25, "tiers"),
    ("tier_requests_per_photo", "≤", 3.05, "tiers"),
    ("tier_requests_per_photo_when_added", "≤", 4.05, "tiers"),
    ("tier_wal_bytes_per_change", "≤", 8192, "tiers"),
    ("tier_snapshot_bytes_over_changed", "≤", 2, "tiers"),
    ("tier_hot_open_p50_over_file", "≤", 1.3, "tiers"),
    ("tier_hot_open_p99_over_file", "≤", 2, "tiers"),
    ("tier_thumbnails_over_files", "≤", 0.7, "tiers"),
    ("tier_cold_open_p50_over_get", "≤", 1.15, "tiers"),
    ("tier_gets_of_100_callers", "≤", 1, "tiers"),
    ("tier_rebuild_requests_over_listing", "≤", 1.05, "tiers"),
    ("tier_idle_requests", "≤", 0, "tiers"),
    ("tier_idle_writes", "≤", 0, "tiers"),
    ("tier_migration_extra_disk_mb", "≤", 64, "tiers"),
    ("purge_100000_of_1000000_over_delete", "≤", 2, "retention"),
    ("purge_longest_lock_ms", "≤", 50, "retention"),
    ("purge_extra_rss_mb", "≤", 16, "retention"),
    ("purge_key_bytes_at_1000_conversations", "≤", 1_048_576, "retention"),
    ("tombstone_bytes_each", "≤", 32, "retention"),
    ("next_deadline_1000000_over_10000", "≤", 2, "retention"),
    ("insert_sealed_over_plain", "≤", 1.3, "retention"),
    ("remnant_bodies", "≤", 0, "retention"),
    ("retention_divergent_schedules", "≤", 0, "retention"),
    ("purged_early", "≤", 0, "retention"),
    ("purge_missed", "≤", 0, "retention"),
    ("purged_late_max_s_over_width", "≤", 60, "retention"),
    ("released_readable_on_ceph", "≤", 0, "retention"),
    ("retention_idle_wakeups", "≤", 0, "retention"),
    ("image_mb", "≤", 60, "operations"),
    ("image_digests_of_two_builds", "≤", 1, "operations"),
    ("requests_lost_in_package_upgrade", "≤", 0, "operations"),
    ("systemd_exposure_max", "≤", 1.6, "operations"),
    ("status_ms_p99", "≤", 20, "operations"),
    ("mutation_survived_share", "≤", 0.05, "mutation"),
    ("sim_same_seed_differences", "≤", 0, "simulation"),
    ("sim_failing_seeds", "≤", 0, "simulation"),
    ("sim_planted_not_found", "≤", 0, "simulation"),
    ("sim_cpu_s_per_virtual_day", "≤", 0.5, "simulation"),
    ("sim_states_never_reached", "≤", 0, "simulation"),
    ("sim_model_differences_unexplained", "≤", 0, "simulation"),
    # Measured when this counter was written (18,206, 59,486, 205,241 and 111,263: the medians of three runs), and 3 %.
    ("healthz_instructions", "≤", 18_750, "instructions"),
    ("vend_cached_instructions", "≤", 56_200, "instructions"),
    ("vend_sts_instructions", "≤", 209_800, "instructions"),
    ("renew_key_instructions", "≤", 114_600, "instructions"),
]


# What another scenario of `--only` brings along.
BROUGHT_ALONG = {"retention": {"release_100"}}
# What --smoke leaves out: a store that takes half a minute to start, and rounds of load.
_NOT_IN_SMOKE = {"released_readable_on_ceph", "release_100_cpu_per_key_us"}
# What a quick run of everything has no time for.
NOT_IN_QUICK = frozenset({"clients", "model", "operations", "retention", "simulation", "tiers"})


def expected(only, smoke=False, left_out=frozenset()):
    """The limits a run measures: those of one scenario, or all but the instructions, which are asked for by name."""
    scenarios = {only} | BROUGHT_ALONG.get(only, set())
    return [limit for limit in LIMITS
            if (limit[3] in scenarios or only is None and limit[3] not in {"instructions", *left_out})
            and not (smoke and limit[0] in _NOT_IN_SMOKE)]


def met(relation, limit, value):
    return value <= limit if relation == "≤" else value >= limit


def plain(value):
    """A number without exponent: whole, or with three decimals."""
    return str(int(value)) if value == math.floor(value) else f"{value:.3f}"


def lines(values, only, smoke=False, left_out=frozenset()):
    """`ratio NAME VALUE` for every measured limit, then what is met, missed, not measured and left out."""
    limits = expected(only, smoke, left_out)
    text = [f"ratio {name} {plain(values[name])}" for name, *_ in limits if name in values]
    missed = [f"{name} is {plain(values[name])}, the limit is {relation} {plain(limit)}"
              for name, relation, limit, _ in limits if name in values and not met(relation, limit, values[name])]
    absent = [name for name, *_ in limits if name not in values]
    measured = len(limits) - len(absent)
    text.append("")
    if limits:
        text.append(f"{measured - len(missed)} of {len(limits)} limits are met.")
    text += [f"missed: {each}" for each in missed] + [f"not measured: {each}" for each in absent]
    for scenario in sorted(left_out):
        names = ", ".join(name for name, _, _, each in LIMITS if each == scenario)
        text.append(f"left out by --quick: {names} (deploy/bench --only {scenario})")
    return text
