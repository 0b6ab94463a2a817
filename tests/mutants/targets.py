"""What is mutated, and which tests judge it: a row for each group of modules that the same tests stand for.

Every module of `ROOMS` that decides something, and every module of conditional writes, is in one row; a test holds that.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.mutants.target import ROOT, Target, conformance, each, stories, unit

__all__ = ["BY_NAME", "PLANTED", "ROOMS", "ROOT", "TARGETS", "Target"]

ROOMS = ("model", "engine", "memory")
"""The rooms whose modules all have a target: the rules, the steps, and the twins that the adapters are compared with."""

PACKS = ("", "_crash", "_given_back", "_controls", "_lost", "_bounds", "_reports", "_taken_over", "_hung", "_forms", "_redriven")
_PARTS = ("claims", "records", "reservations", "revocations", "joins", "failures", "custom_states", "packs")
_LEDGER = conformance(*map("ledger_{}".format, _PARTS))
_LEASES = conformance("leases")

TARGETS: Sequence[Target] = (
    Target("tasks", each("aws.expressions", "tasks statements"), (*_LEDGER, *conformance("elections", "lifetimes"), *unit("group_commit"))),
    Target("leases", ("aws.expressions.leases",), (*_LEASES, *conformance("lifetimes"))),
    Target("limits", ("aws.expressions.limits",),
           (*conformance("limits", "permit_boards", "lifetimes"), *unit("permits_of_older_versions")), holds=True),
    Target("elections", ("aws.expressions.elections",), conformance("elections", "lifetimes")),
    Target("fencing", ("aws.expressions.fencing", "aws.fencing.items"), (*_LEASES, *unit("guards"), "docs/test_fencing.py")),
    Target(
        "other-writes",
        each("aws.expressions", "backlog control flow_runs members memos rollups schedules"),
        (*conformance("backlog", "control", "flow_runs", "members", "memos", "rollups", "schedules", "lifetimes"), *unit("agenda_items")),
    ),
    Target(
        "effects",
        ("aws.expressions.effects", "model.effects", "model.canonical_json", "memory.effects", "engine.effects"),
        (*conformance("effects"), *stories("effects"), *unit("effect_rules", "effect_words")),
    ),
    Target(
        "telemetry", each("model.telemetry", "adapter_names execution_spans journal_entries log_entries otlp_json statsd_lines"),
        unit("adapter_names", "log_entries", "telemetry_protocols", *(f"telemetry/{name}" for name in ("execution_spans", "otlp_json"))),
    ),
    Target(
        "sinks",
        ("aws.expressions.sinks", "model.addresses", *each("model.sinks", "content deliveries places"), "memory.sinks", "engine.sinks"),
        (*conformance("sinks"), *stories("documents"), *unit("addresses", "sinks", "webhook_sinks")),
    ),
    Target("hooks", ("engine.hooks",), (*stories("hooks"), *unit("engine/hook_calls"))),
    Target("memory-tasks", ("memory.ledger", "model.ledger.failures"), (*_LEDGER, *conformance("elections", "effects"), *unit("memory"))),
    Target("memory-leases", ("memory.leases",), (*_LEASES, *unit("memory"))),
    Target("memory-limits", ("memory.limits",), conformance("limits", "permit_boards")),
    Target(
        "memory-other",
        each("memory", "backlog blobs elections events control flow_runs members memos rollups schedules"),
        (
            *conformance("backlog", "elections", "control", "flow_runs", "memos", "rollups", "schedules", "members", "blobs", "history"),
            *unit("memory"),
        ),
    ),
    Target("claim", each("model.ledger", "claims outcome"), (*unit("claim", "outcome"), *stories("retries", "given_back", "poison"))),
    Target("packs", ("model.packs", "model.pack_ends", *each("engine.worker", "end_reports packs pack_follow_ups")),
           (*unit("packs"), *stories(*(f"packs{kind}" for kind in PACKS)))),
    Target("inline-links", ("model.inline_links", "engine.worker.inline_links"),
           (*unit("inline_links", "claim"), *stories("inline_links", "inline_links_crash", "inline_links_time", "inline_links_lanes"))),
    Target(
        "direct-calls", ("model.direct_calls", "engine.publisher.direct_calls", "engine.worker.call_answers", "memory.direct_calls"),
        (*unit("direct_calls", "engine/call_answers"), *stories("direct_calls", "direct_calls_crash"), *conformance("direct_calls")),
    ),
    Target("bulk", ("model.bulk", "engine.bulk"), (*unit("bulk", "engine/bulk_steps"), *stories("bulk_changes"))),
    Target("deployments", ("model.deployments", "engine.deployments"), (*unit("deployments"), *stories("new_failures"))),
    Target("lease", ("model.leases", "model.store_clock"), (*unit("lease_rule", "lease_times"), *_LEASES, *stories("leases"))),
    Target("join", ("model.canvas.join", "model.messages.lineage"), (*unit("join", "lineage"), *stories("canvas"))),
    Target("election", ("model.elections",), (*unit("election"), *stories("elections", "preferences"))),
    Target("rates", (*each("model.limits", "concurrency rate task_limits"), "model.collection"),
        (*unit("permits", "permits_of_older_versions", "rates", "limit_options", "limit_rules"), *conformance("limits"),
         *stories("limits", "concurrency", "collected_calls"))),
    Target(
        "strict", ("model.messages.strict_json", "model.seals.seal", "model.sources.signature_schemes"),
        unit("seal", "seals", "signed", "codec_strictness", "codec_round_trip", "strict_json", "seal_texts"),
    ),
    Target(
        "order", ("model.ledger.dedup_keys", "model.order", "model.deferrals", "model.pauses", "model.spending"),
        (*unit("waits", "pauses", "serial", "dedup_keys", "spending"), *stories("in_order", "paused_queues", "pause_causes", "spending")),
    ),
    Target(
        "retry", ("model.retry", "model.brokers", "model.routes", "model.budgets", "model.circuits", "model.connection_breaker"),
        unit("retry", "brokers", "routes", "budget", "breaker", "breaker_edges", "connection"),
    ),
    Target(
        "timer",
        (
            "model.timers", "model.ledger.recent_ids", "model.priority", "model.cluster.controller", "model.cluster.forecast",
            "model.partitions", "model.worker_advice",
        ),
        unit("timer", "foreign_schedule", "window", "priority", "rounds", "forecast", "partitions", "worker_advice"),
    ),
    Target(
        "claiming",
        each("engine.worker", "claims intake next_attempt poison_messages verdicts") + each("engine", "history.recorder unexpected_errors"),
        (
            *unit("claim", "engine/poison_messages", "engine/recorder", "engine/recorder_steps", "engine/claiming"),
            *unit("engine/claiming_others", "engine/taking_in", "engine/judging", "engine/outcomes", "engine/unexpected_errors"),
            *stories("comes_again", "given_back", "poison", "duplicates", "represented", "containment", "revocation", "bad_messages"),
            *stories("hostile_messages", "retry_arguments", "zombies"),
        ),
    ),
    Target(
        "following",
        ("engine.worker.follow_ups", "engine.canvas.join_arrivals", "engine.canvas.chord_results", "engine.canvas.continuation"),
        (
            *stories("comes_again", "canvas", "canvas_results", "lost_plans", "group_results", "canvas_replaced", "canvas_refused"),
            *stories("canvas_large", "canvas_own_ids", "executions", "retries", "ids"),
            *unit("engine/follow_ups", "engine/follow_ups_of_canvases", "engine/gathering", "engine/continuing", "engine/canvas_ends"),
            *unit("engine/joining"),
        ),
    ),
    Target(
        "publisher",
        ("engine.publisher.sender", "engine.timers", "engine.deferrals", "engine.publisher.requeue"),
        (
            *unit("engine/publisher", "engine/publisher_line", "engine/publisher_backlog", "engine/deferring", "engine/timed_sending"),
            *unit("engine/requeue", "engine/publisher_draining"),
            *stories("comes_again", "timers"),
        ),
    ),
    Target("reruns", ("engine.reruns",), (*unit("engine/reruns"), *stories("reruns", "in_order"))),
    Target(
        "worker",
        ("engine.worker.pipeline", "engine.worker.body_results", "engine.worker.body_preparation"),
        (
            *stories("comes_again", "represented", "revocation", "failures_logged", "given_back", "unavailable", "crash_points"),
            *stories("optional_ports", "bad_results", "hooks", "documents"),
            *unit("engine/body_results", "engine/worker_steps", "engine/worker_faults", "engine/worker_batches", "engine/judging"),
        ),
    ),
    Target(
        "memory-rest",
        each(
            "memory",
            "archive consumers folder_archive key_store machine parameters queues stream_records telemetry timers webhook_secrets",
        ),
        (
            *conformance("archives", "consumers", "key_store", "parameters", "queues", "queues_in_order", "queue_bounds", "telemetry"),
            *conformance("timers", "timers_command", "leases"),
            *unit("memory", "memory_queues", "folder_archive", "stream"),
            *stories("webhooks_tokens", "wrong_clocks", "streams", "failures_logged", "queue_bounds"),
        ),
    ),
    Target(
        "canvas-rules",
        each("model.canvas", "page_reader pages continuation tree"),
        (
            *unit("canvas_model", "page_reader", "pages", "canvas_trees", "canvas_places", "engine/plans"),
            *stories("canvas_large", "canvas_whole", "canvas_results", "canvas_bad_input", "canvas_edges"),
        ),
    ),
    Target("scale", ("model.cluster.scale", "model.cluster.worker_report"), unit("scale", "worker_report")),
    Target(
        "cluster-rules",
        ("model.cluster.control_record", "model.cluster.inbox", "model.cluster.members", "model.health", "model.memos"),
        (
            *unit("control_record", "inbox", "cluster", "cluster_edges", "health", "rounds", "live"),
            *conformance("control", "members", "memos"),
            *stories("health_checks", "active_tasks"),
        ),
    ),
    Target(
        "history-rules",
        each(
            "model.history",
            "attempts event_order invocation_prices live_state live_tasks registers rollups manifests spans stage_changes task_costs "
            "tenant_loads cost_shares cost_estimates",
        ),
        (
            *unit("attempts", "registers", "live", "rollups", "spans", "stage_changes", "task_costs", "task_query", "tenant_loads"),
            *unit("cost_shares", "cost_estimates", "event_order", "invocation_prices", "live_tasks", "manifests"), *stories("view_agrees"),
            "conformance/test_views.py", "pipeline/test_commit.py",
        ),
    ),
    Target(
        "record-rules", (*each("model.ledger", "custom_states outcome_text raised_errors records tracebacks"), "model.states"),
        (*unit("aws_items", "custom_states", "raised_errors", "tracebacks", "states", "claim", "outcome", "outcome_text", "reads"),
         *_LEDGER, *conformance("state_writes")),
    ),
    Target(
        "codec",
        each("model.messages", "attributes blob decoder encoder fast_decoder headers message plain_json timestamps trace"),
        (
            *unit("codec_attributes", "codec_canonical", "codec_round_trip", "codec_strictness", "codec_timestamps", "codec_values"),
            *unit("protocol_documents", "codec_texts", "headers", "message_values"),
            *stories("traces", "ids", "budget_ceiling", "headers"),
        ),
    ),
    Target("clocks", each("model.messages", "lamport stamps"), unit("clock", "clock_edges", "stamps", "engine/drafts") + stories("stamps")),
    Target(
        "queue-rules", ("model.queues", "engine.order"),
        (*unit("serial", "transport", "engine/order"), *conformance("queues_in_order"),
         *stories("in_order", "in_order_random", "in_order_survives")),
    ),
    Target(
        "schedules",
        each("model.schedules", "agenda cron schedule schedule_states timetable"),
        unit("agenda", "clock_changes", "schedule", "schedule_states", "timetable", "cron_rules") + stories("periodic", "periodic_claims"),
    ),
    Target("keys", ("model.seals.key_set",), (*unit("seal", "seals", "key_set"), *conformance("keys_command", "key_store"))),
    Target("settings", ("model.settings",), (*unit("project_settings"), *stories("config_command"))),
    Target(
        "sources-rules",
        each("model.sources", "streams webhooks queue_messages challenges polls http_polls"),
        (
            *unit("stream", "webhook_request", "signed", "queue_messages", "challenges", "polls", "http_polls"),
            *stories("streams", "webhooks", "webhooks_attacked", "foreign_queues"),
        ),
    ),
    Target(
        "declarations",
        ("model.number_ranges", *each("model.tasks", "annotations parameters signature")),
        (
            *unit("engine/parameters", "annotations", "signature", "declaration"),
            *stories("newcomers_mistakes", "canvas_bad_input", "time_and_flow_bad_input"),
        ),
    ),
    Target(
        "workflow-rules",
        each(
            "model.workflow", "next_actions conditions definition definition_reader flow_run flow_run_text progress validation value_types"
        ),
        (
            *unit(*(f"workflow/{name}" for name in ("advance", "checking", "files", "planted", "immutable", "reading", "progress"))),
            *unit("workflow/next_actions", "workflow/value_types", "workflow/validation"), *conformance("flow_runs"),
            *stories("workflows", "workflow_compensations", "workflow_control", "workflows_survive", "retried_runs"),
        ),
    ),
    Target("workflow-pictures", each("model.workflow", "layout mermaid svg"),
           unit("workflow/drawing", "workflow/files", "workflow/layout", "workflow/pictures")),
    Target(
        "canvas-steps",
        each("engine.canvas", "page_entries error_requests launches lost_pages map_tasks page_cache"),
        (
            *stories("canvas", "canvas_large", "canvas_whole", "canvas_replaced", "canvas_own_ids", "canvas_edges", "canvas_bad_input"),
            *stories("lost_plans", "time_limits_of_calls", "canvas_userguide"),
            *unit("engine/plans", "engine/launching", "engine/page_entries", "engine/lost_pages", "engine/map_tasks"),
        ),
    ),
    Target(
        "gates",
        (*each("engine", "gate expiry redelivery pauses priority"), *each("engine.worker", "gate_order admission start_check")),
        (
            *unit("engine/pausing", "engine/gate_steps", "engine/admission"),
            *stories("gates", "looked_at_again", "paused_queues", "preferences", "in_order"),
        ),
    ),
    Target(
        "revocations",
        each("engine.revocation", "record revocation_gate timed_tasks"),
        (*unit("engine/revoking"), *stories("revocation", "stamps", "comes_again", "timers", "looked_at_again")),
    ),
    Target(
        "circuits",
        ("engine.circuits",),
        (
            *stories("circuits", "circuits_counted", "circuits_of_checks", "circuits_crash", "health_checks", "looked_at_again"),
            *unit("breaker", "engine/circuits"),
        ),
    ),
    Target(
        "limit-steps",
        (*each("engine.limits", "concurrency limit_gate rate waiting_line"), *each("engine", "collection lineage_marks wake_ups")),
        (
            *unit(*(f"engine/permit{name}" for name in ("ting", "_boards", "_orders", "_races"))),
            *unit(*(f"engine/{name}" for name in ("limiting", "pacing", "collecting", "lineage_marks"))),
            *stories("limits", "limits_away", "concurrency", "collected_calls", "marks", "budget_ceiling", "comes_again"),
        ),
    ),
    Target(
        "lease-steps",
        each("engine", "leases singletons partitions"),
        (
            *unit("engine/leasing", "engine/singletons", "engine/partitioning"),
            *stories("leases", "leases_contended", "limits_away", "leadership", "given_back", "locks_in_tasks", "locks_awaited"),
            *stories("singletons", "partitions"),
        ),
    ),
    Target("election-steps", ("engine.elections", "canvas.election"), (*stories("elections", "preferences"), *unit("engine/electing"))),
    Target(
        "cluster-steps",
        (*each("engine.cluster", "control controller explanation inbox log_levels membership"), "engine.health", "engine.spending"),
        (
            *stories("controller", "explain", "inbox", "membership", "health_checks", "revocation", "long_outages", "pause_causes"),
            *stories("inbox_lanes", "operations", "built_in_checks", "spending"),
            *unit("engine/invocations", "engine/explaining", "engine/explaining_answers", "engine/membership", "engine/controlling"),
            *unit("engine/controller_steps", "engine/inbox_steps", "engine/health_steps", "engine/spending_steps"),
        ),
    ),
    Target(
        "history-steps",
        (*each("engine.history", "commits invocation_costs run_events span_export stage_changes"), "model.history.run_rows"),
        (
            *unit("engine/invocations", "engine/recorder", "engine/chronicle", "engine/run_reports", "engine/commits", "engine/reporting"),
            *stories("changes_recorded", "counts_survive", "exported_spans", "ignored", "events_and_costs", "failures_found"),
            "pipeline/test_commit.py",
        ),
    ),
    Target(
        "parked",
        each("engine.parked", "parking redrive"), (*unit("engine/parking", "engine/redriving"), *conformance("parked_command"),
        *stories("parked_foreign", "bad_messages", "streams_parked", "in_order", "executions", "reruns", "packs_redriven")),
    ),
    Target(
        "program",
        (
            *each("engine.publisher", "backlog drafting order_keys process_exit publisher spool spool_folder"),
            "engine.drafts",
            "engine.outbox",
        ),
        (
            *unit("engine/publisher", "engine/publisher_line", "engine/publisher_backlog", "engine/spool", "engine/drafts"),
            *unit("engine/key_choice", "engine/drafting", "engine/outlet", "engine/spool_steps", "engine/process_exit"),
            *stories("batches", "options", "dedup_arguments", "spool_command", "in_order", "queue_bounds", "kept_results"),
            *stories("results", "results_awaited", "hooks"),
        ),
    ),
    Target(
        "registry",
        (*each("engine", "batch built_in_tasks declaration_origins registry"), "engine.worker.settings", "model.tasks.task_spec"),
        unit("task_options", "declaration", "engine/registering")
        + stories("declared_again", "shared_tasks", "newcomers_mistakes", "duplicates"),
    ),
    Target(
        "schedule-steps", each("engine.schedules", "instance_limits scheduler"),
        (*unit("engine/scheduler", "engine/occurrences", "engine/instance_limits"),
         *stories("periodic", "periodic_changes", "periodic_claims", "containment", "comes_again")),
    ),
    Target(
        "sources-steps",
        (*each("engine.sources", "streams webhooks polls"), "engine.router"),
        (
            *unit("engine/router", "engine/webhook_steps", "engine/stream_steps", "engine/poll_steps"),
            *stories("streams", "streams_parked", "webhooks", "webhooks_attacked", "webhooks_tokens", "webhooks_github"),
            *stories("webhooks_checked", "long_outages_aside", "polls", "polls_time"),
        ),
    ),
    Target(
        "bodies",
        (
            *each(
                "engine.worker",
                "blocked_loop_warning body_concurrency body_threads body_coroutines event_loop execution record_threads standing_loop",
            ),
            *each("engine", "task_context body_sections task_log task_log_records worker.trio_bodies worker.recording"),
        ),
        (
            *unit("engine/sections", "engine/lanes_of_the_worker", "engine/standing_loop", "engine/execution_faults", "engine/trio_bodies"),
            *unit(*map("engine/body_{}".format, ("steps", "pools", "loops", "runs")), "engine/task_log_records", "engine/recording"),
            *stories("async", "coroutines", "threads", "drain", "failures_logged", "retries", "looked_at_again", "worker_process", "trio"),
        ),
    ),
    Target(
        "claims-in-time",
        each("engine.worker", "claim_extension time_limit_warning time_limits redelivery_credit failure_log"),
        (
            *unit("engine/watch_steps", "engine/limited_body", "engine/time_limit_warning", "engine/failure_log", "engine/extending"),
            *unit("engine/time_limits", "engine/watch", "engine/sparing", "engine/standing_ticker"),
            *stories("extended_claims", "overtime", "time_limits", "failures_logged", "time_limits_of_calls"),
        ),
    ),
    Target("processes", ("model.beats", "model.prefetch", "model.restarts"), unit("beats", "prefetch", "restarts")),
    Target(
        "publisher-socket", ("model.publisher_frames", *each("engine.publisher", "socket_connection socket_queues")),
        unit("publisher_frames", "engine/socket_connection", "engine/socket_queues"),
    ),
    Target(
        "configuration",
        (*each("model.configuration", "casts fields layers snapshots stage_values"), "engine.configuration", "engine.configuration_layers"),
        unit("configuration", "configuration_values", "engine/configuring", "engine/reading_layers")
        + stories("configuration", "configuration_stores", "app_configuration_command", "config_command"),
    ),
    Target(
        "boot", ("model.boot", "engine.boot", "engine.services"),
        (*unit("boot", "engine/boot_steps", "engine/services"), *stories("boot")),
    ),
    Target(
        "boxes",
        ("model.boxes", *each("engine.boxes", "calls child exchange functions pool watcher"), "memory.functions"),
        (
            *unit("boxes", "engine/box_calls", "engine/box_exchange", "engine/box_functions", "engine/box_pool", "engine/box_process"),
            *unit("engine/box_watcher"),
            *stories("boxes", "boxes_by_function", "boxes_of_the_dead"),
            *conformance("functions"),
        ),
    ),
    Target(
        "planted",
        ("tests.mutants.planted.till",),
        tuple(f"mutants/planted/{judge}.py" for judge in ("aside/judge_receipt", "judge_till", "aside/judge_larger")),
    ),
)
BY_NAME = {target.name: target for target in TARGETS}
PLANTED = "planted"
"""The target that shows what the runner does; it is no part of a campaign."""
