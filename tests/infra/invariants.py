"""What is true of every resource of every stack: a rule is given one resource at a time and answers what is wrong with it.

`tests/infra/test_invariants.py` asks each rule about each resource, and plants a violation of each to see it found.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.infra.template import Properties, Templates, aliased, listed, of_a_stream, of_the_stage, target

Rule = Callable[[Templates, str], str | None]
SERVICES = [f"{one}.amazonaws.com" for one in ("lambda", "scheduler", "glue", "emr-serverless", "codedeploy", "ecs-tasks")]
#: Lambda, and ECS where it fetches an image, do not document that they name the account: only this account can pass them its roles.
PASSED_WITHIN_THE_ACCOUNT = ("lambda.amazonaws.com", "ecs-tasks.amazonaws.com")
#: Actions that IAM grants on everything or not at all.
WITHOUT_RESOURCE = ["ecr:GetAuthorizationToken"]


def named(function: str) -> str:
    """How `Templates` calls a function: by its directory."""
    return function.split("Function", maxsplit=1)[0].lower()


def _of(templates: Templates, name: str) -> Properties:
    properties: Properties = templates.resources[name].get("Properties", {})
    return properties


def has_a_role_of_its_own(templates: Templates, name: str) -> str | None:
    """A function shares its role with nobody."""
    role = _of(templates, name)["Role"]
    shared = [other for other, function in templates.of_type("Lambda::Function").items() if function["Role"] == role and other != name]
    return f"shares its role with {shared}" if shared else None


def logs_json_to_a_group_of_its_own(templates: Templates, name: str) -> str | None:
    """A function writes JSON to its own group, and of Lambda's own lines only warnings, which are most of what logs cost."""
    logging = _of(templates, name).get("LoggingConfig", {})
    groups = [_of(templates, other).get("LoggingConfig", {}).get("LogGroup") for other in templates.of_type("Lambda::Function")]
    if logging.get("LogFormat") != "JSON" or logging.get("SystemLogLevel") != "WARN":
        return "does not log JSON with system lines from WARN up"
    return None if groups.count(logging.get("LogGroup")) == 1 else "has no log group of its own"


def states_its_limits(templates: Templates, name: str) -> str | None:
    """Memory, time and architecture are said, not left to defaults."""
    function = _of(templates, name)
    stated = function.get("MemorySize", 0) >= 128 and 1 <= function.get("Timeout", 0) <= 900 and function.get("Architectures") == ["arm64"]
    return None if stated else "does not state memory, time and arm64"


def loops_only_where_its_messages_come_back(templates: Templates, name: str) -> str | None:
    """A function may loop exactly when what it sends can feed it again; Lambda would stop it after sixteen hops."""
    feeds: dict[str, str] = dict(templates.sources())
    reached: set[str] = set()
    reaching = {named(name)}
    while reaching:
        one = reaching.pop()
        found = {feeds[queue] for queue in templates.may(one, "sqs:SendMessage") if queue in feeds} - reached
        reached, reaching = reached | found, reaching | found
    loops = named(name) in reached
    said = _of(templates, name).get("RecursiveLoop")
    right = said == ("Allow" if loops else "Terminate")
    return None if right else f"says RecursiveLoop {said}, and its messages {'do' if loops else 'do not'} come back"


def is_let_in_step_by_step(templates: Templates, name: str) -> str | None:
    """In production events go to an alias that CodeDeploy moves by canary and moves back when an alarm fires."""
    for alias in templates.resources.values():
        if alias["Type"] == "AWS::Lambda::Alias" and target(alias["Properties"]["FunctionName"]) == name:
            moved = alias.get("UpdatePolicy", {}).get("CodeDeployLambdaAliasUpdate")
            group = _of(templates, target(moved["DeploymentGroupName"])) if moved else {}
            canary = "Canary" in group.get("DeploymentConfigName", "")
            alarmed = group.get("AlarmConfiguration", {}).get("Enabled") and group["AlarmConfiguration"]["Alarms"]
            rolls = "DEPLOYMENT_STOP_ON_ALARM" in group.get("AutoRollbackConfiguration", {}).get("Events", [])
            return None if canary and alarmed and rolls else "is not let in by a canary that an alarm rolls back"
    return "has no alias"


def loses_no_failure(templates: Templates, name: str) -> str | None:
    """What a function fails at is done all the same: its queues have dead letters, its asynchronous invocations a destination, its next
    round does what the one before did not, whoever asks at its URL waits for the answer, or it reads a stream or
    a queue of another program, where what was not sent stays."""
    queues = [queue for queue, function in templates.sources() if function == named(name)]
    asynchronous = [
        config["DestinationConfig"]["OnFailure"]
        for config in templates.of_type("Lambda::EventInvokeConfig").values()
        if templates.function_id(config["FunctionName"]) == name
    ]
    rounds = [schedule["Target"]["Arn"] for schedule in templates.of_type("Scheduler::Schedule").values()]
    told = [url["TargetFunctionArn"] for url in templates.of_type("Lambda::Url").values()]
    followed = named(name) in [function for _, function in (*templates.followers(), *templates.foreign())]
    if not (queues or asynchronous or followed or name in map(templates.function_id, [*rounds, *told])):
        return "is fed by no queue, and what fails asynchronously has no destination"
    bare = [queue for queue in queues if "RedrivePolicy" not in _of(templates, queue)]
    return f"is fed by {bare}, without dead letters" if bare else None


def gives_up_before_the_next_round(templates: Templates, name: str) -> str | None:
    """An invocation that could not be made is not tried for longer than until the next one comes anyway."""
    schedule = _of(templates, name)
    retry = schedule["Target"].get("RetryPolicy", {})
    timely = schedule["ScheduleExpression"] == "rate(1 minute)" and retry.get("MaximumEventAgeInSeconds", 86_400) <= 60
    return None if timely else "tries an old round again beside new ones"


def is_aimed_at_what_is_released(templates: Templates, name: str) -> str | None:
    """In production a mapping or a schedule leads to the alias; one that leads to the function itself would miss the canary."""
    said = _of(templates, name)
    aim = said["Target"]["Arn"] if "Target" in said else said["FunctionName"]
    return None if aliased(aim) or target(aim) in templates.of_type("Lambda::Alias") else "feeds the newest code at once"


def feeds_with_a_limit(templates: Templates, name: str) -> str | None:
    """A mapping says how many invocations it may cause at once, lets one message fail alone, and drops none."""
    mapping = _of(templates, name)
    if of_a_stream(mapping):  # as many invocations as it has shards
        return None
    if not 2 <= mapping.get("ScalingConfig", {}).get("MaximumConcurrency", 0) <= 1000:
        return "does not state MaximumConcurrency"
    if mapping.get("FunctionResponseTypes") != ["ReportBatchItemFailures"]:
        return "fails whole batches"
    return "deletes what its filter does not match" if "FilterCriteria" in mapping else None


def gives_no_record_up(templates: Templates, name: str) -> str | None:
    """A mapping of a stream begins with the oldest record, keeps the order of a shard, and comes back to what could not be sent on for as
    long as the stream remembers it: its function fails at its surroundings, never at a record."""
    mapping = _of(templates, name)
    if not of_a_stream(mapping):
        return None
    if mapping["StartingPosition"] != "TRIM_HORIZON" or "FilterCriteria" in mapping:
        return "passes records over"
    if mapping.get("MaximumRetryAttempts") != -1 or mapping.get("MaximumRecordAgeInSeconds") != -1:
        return "gives records up"
    if mapping.get("FunctionResponseTypes") != ["ReportBatchItemFailures"]:
        return "sends whole batches again"
    return None if mapping.get("ParallelizationFactor") == 1 else "hands over what is in order side by side"


def tells_when_nobody_reads(templates: Templates, name: str) -> str | None:
    """In production a mapping of a stream counts its reading, and where there is nothing counted that fires an alarm."""
    if not of_a_stream(mapping := _of(templates, name)):
        return None
    fires = any(alarm["TreatMissingData"] == "breaching" for alarm in _alarms(templates, "PolledEventCount", name))
    return None if fires and mapping.get("MetricsConfig") == {"Metrics": ["EventCount"]} else "stops unheard"


def hides_for_six_timeouts(templates: Templates, name: str) -> str | None:
    """A message that is worked on is not handed out again: six times the function's limit, and the time that a batch gathers."""
    mapping = _of(templates, name)
    if not of_the_stage(mapping):
        return None
    function = _of(templates, templates.function_id(mapping["FunctionName"]))
    least = 6 * function["Timeout"] + mapping.get("MaximumBatchingWindowInSeconds", 0)
    hidden = _of(templates, target(mapping["EventSourceArn"])).get("VisibilityTimeout", 30)
    return None if hidden >= least else f"hides messages for {hidden} s, and {least} are needed"


def _rests(templates: Templates) -> set[str]:
    """Where messages end: dead letters, and what is parked."""
    policies = [queue["RedrivePolicy"] for queue in templates.of_type("SQS::Queue").values() if "RedrivePolicy" in queue]
    return {target(policy["deadLetterTargetArn"]) for policy in policies} | {target(templates.outputs["SedanoParkedQueue"])}


def has_dead_letters_or_is_where_they_rest(templates: Templates, name: str) -> str | None:
    """A queue sets aside what is handed out too often, or is itself where that rests, for two weeks."""
    if name not in _rests(templates):
        return None if "RedrivePolicy" in _of(templates, name) else "has no dead-letter queue"
    return None if _of(templates, name).get("MessageRetentionPeriod") == 14 * 86_400 else "forgets what rests in it before two weeks"


def tells_when_something_rests(templates: Templates, name: str) -> str | None:
    """In production the first message that comes to rest fires an alarm."""
    if name not in _rests(templates):
        return None
    thresholds = [alarm["Threshold"] for alarm in _alarms(templates, "ApproximateNumberOfMessagesVisible", name)]
    return None if thresholds[:1] == [1] else "tells only of many" if thresholds else "has no alarm"


def _alarms(templates: Templates, metric: str, name: str) -> Iterator[Properties]:
    """The alarms over `metric` of the resource `name`."""
    for alarm in templates.of_type("CloudWatch::Alarm").values():
        if alarm.get("MetricName") == metric and name in [templates.exported(one["Value"]) for one in alarm["Dimensions"]]:
            yield alarm


def keeps_order_to_its_end(templates: Templates, name: str) -> str | None:
    """A queue that keeps order drops copies by what they say and lets no key slow another; what it gives up rests in order as well, and
    late, for a message that waits for its turn is handed out again and again. No other queue has to do with order."""
    queue = _of(templates, name)
    dead = _of(templates, target(queue["RedrivePolicy"]["deadLetterTargetArn"])) if "RedrivePolicy" in queue else queue
    if not queue.get("FifoQueue"):
        return "gives up into a queue that keeps order" if dead.get("FifoQueue") else None
    apart = (queue.get("DeduplicationScope"), queue.get("FifoThroughputLimit")) == ("messageGroup", "perMessageGroupId")
    if not apart or queue.get("ContentBasedDeduplication") is not True:
        return "keeps order without telling copies apart, or lets a key slow another"
    late = queue.get("RedrivePolicy", {}).get("maxReceiveCount", 1000) == 1000
    return None if late and dead.get("FifoQueue") else "gives up early, or forgets the order of what it gives up"


def waits_for_nothing_in_order(templates: Templates, name: str) -> str | None:
    """A mapping of a queue that keeps order takes at most ten at once and gathers none: Lambda refuses more."""
    mapping = _of(templates, name)
    if not of_the_stage(mapping) or not _of(templates, target(mapping["EventSourceArn"])).get("FifoQueue"):
        return None
    return None if mapping["BatchSize"] <= 10 and not mapping.get("MaximumBatchingWindowInSeconds") else "gathers what is in order"


def is_encrypted_at_rest(templates: Templates, name: str) -> str | None:
    """Queues and buckets encrypt what they keep."""
    said = [_of(templates, name).get(one) for one in ("SqsManagedSseEnabled", "KmsMasterKeyId", "BucketEncryption")]
    return None if any(said) else "is not encrypted"


def refuses_what_is_not_tls(templates: Templates, name: str) -> str | None:
    """A policy of the queue or bucket denies every request that does not come over TLS."""
    for policy in (*templates.of_type("SQS::QueuePolicy").values(), *templates.of_type("S3::BucketPolicy").values()):
        held = map(target, policy.get("Queues") or [policy["Bucket"]])
        if name in held and any(map(_denies_plain, policy["PolicyDocument"]["Statement"])):
            return None
    return "can be reached without TLS"


def _denies_plain(statement: Mapping[str, Any]) -> bool:
    plain = {"aws:SecureTransport": "false"}
    return statement["Effect"] == "Deny" and statement.get("Condition", {}).get("Bool") == plain and statement["Principal"] == {"AWS": "*"}


def is_paid_by_the_request_up_to_a_ceiling(templates: Templates, name: str) -> str | None:
    """A table costs nothing while nothing runs, and a runaway cannot cost without limit."""
    table = _of(templates, name)
    ceiling = table.get("OnDemandThroughput", {})
    bounded = ceiling.get("MaxReadRequestUnits", 0) > 0 and ceiling.get("MaxWriteRequestUnits", 0) > 0
    return None if table.get("BillingMode") == "PAY_PER_REQUEST" and bounded else "is not on demand with a ceiling"


def can_be_restored_and_forgets(templates: Templates, name: str) -> str | None:
    """A table can be had back as it was at any second of the last weeks, and lets go of what has a date."""
    table = _of(templates, name)
    restored = table.get("PointInTimeRecoverySpecification", {}).get("PointInTimeRecoveryEnabled")
    return None if restored and table.get("TimeToLiveSpecification", {}).get("Enabled") else "has no recovery or no time to live"


def outlives_its_stack(templates: Templates, name: str) -> str | None:
    """In production data is not deleted with its stack, nor replaced, and a table refuses to be deleted at all."""
    resource = templates.resources[name]
    kept = resource.get("DeletionPolicy") == resource.get("UpdateReplacePolicy") == "Retain"
    protected = resource["Type"] != "AWS::DynamoDB::Table" or resource["Properties"].get("DeletionProtectionEnabled") is True
    return None if kept and protected else "can be deleted"


def is_private(templates: Templates, name: str) -> str | None:
    """Nothing in a bucket can become public."""
    blocked = _of(templates, name).get("PublicAccessBlockConfiguration", {})
    return None if len(blocked) == 4 and set(blocked.values()) == {True} else "can become public"


def keeps_versions_for_a_while(templates: Templates, name: str) -> str | None:
    """What is overwritten or deleted by mistake can be had back, and does not cost for ever."""
    bucket = _of(templates, name)
    rules = bucket.get("LifecycleConfiguration", {}).get("Rules", [])
    said = {part for rule in rules for part in rule}
    forgets = {"NoncurrentVersionExpiration", "AbortIncompleteMultipartUpload"} <= said
    versioned = bucket.get("VersioningConfiguration", {}).get("Status") == "Enabled"
    return None if versioned and forgets else "has no versions, or keeps old ones for ever"


def ages_event_lines_alone(templates: Templates, name: str) -> str | None:
    """Of the history's bucket only the event lines may age, after a month at least: the tables made of them are never deleted by age."""
    if "History" not in name:
        return None
    rules = _of(templates, name).get("LifecycleConfiguration", {}).get("Rules", [])
    wrong = [rule for rule in rules if {"ExpirationInDays", "ExpirationDate"} & rule.keys()]
    wrong = [rule for rule in wrong if rule.get("Prefix") != "events/" or rule.get("ExpirationInDays", 0) < 30]
    return f"deletes by age {wrong}" if wrong else None


def forgets_in_time(templates: Templates, name: str) -> str | None:
    """Logs are kept for as long as was said."""
    return None if _of(templates, name).get("RetentionInDays", 0) > 0 else "keeps logs for ever"


def names_what_it_allows(templates: Templates, name: str) -> str | None:
    """A policy lists actions one by one, on resources of this deployment; `*` only ends a name that begins with one of them."""
    for statement in _of(templates, name)["PolicyDocument"]["Statement"]:
        wild = [action for action in listed(statement["Action"]) if "*" in action]
        bare = [resource for resource in listed(statement["Resource"]) if isinstance(resource, str) and resource.startswith("*")]
        if wild or (bare and listed(statement["Action"]) != WITHOUT_RESOURCE):
            return f"allows {wild or 'everything'} on {bare or 'its resources'}"
    return None


def trusts_one_service(templates: Templates, name: str) -> str | None:
    """A role is taken on by the one service that runs its function, and carries no policy that AWS may change."""
    role = _of(templates, name)
    trusted = [statement["Principal"].get("Service") for statement in role["AssumeRolePolicyDocument"]["Statement"]]
    if len(trusted) != 1 or trusted[0] not in SERVICES:
        return f"trusts {trusted}"
    managed = role.get("ManagedPolicyArns", [])
    return f"carries {managed}" if managed else None


def trusts_this_account_alone(templates: Templates, name: str) -> str | None:
    """On AWS a service takes a role on only when it acts for the stage's account."""
    (statement,) = _of(templates, name)["AssumeRolePolicyDocument"]["Statement"]
    account = statement.get("Condition", {}).get("StringEquals", {}).get("aws:SourceAccount")
    bound = account in ({"Ref": "AWS::AccountId"}, "123456789012")
    service = statement["Principal"].get("Service")
    return None if bound or service in PASSED_WITHIN_THE_ACCOUNT else f"is taken on by {service} for any account"


def passes_roles_to_one_service(templates: Templates, name: str) -> str | None:
    """Whoever hands a role to a service may hand it to that one alone."""
    for statement in _of(templates, name)["PolicyDocument"]["Statement"]:
        to = statement.get("Condition", {}).get("StringEquals", {}).get("iam:PassedToService")
        if "iam:PassRole" in listed(statement["Action"]) and (to is None or len(listed(to)) != 1):
            return "passes a role to any service"
    return None


def says_what_to_do(templates: Templates, name: str) -> str | None:
    """An alarm explains itself, and says what it means when there is nothing to count."""
    alarm = _of(templates, name)
    told = len(alarm.get("AlarmDescription", "").split()) >= 8 and alarm.get("TreatMissingData") in ("notBreaching", "breaching")
    return None if told else "does not say what it means"


def broken(templates: Templates, rule: Rule, kinds: tuple[str, ...]) -> Iterator[str]:
    """Every resource of `kinds` that breaks `rule`, with what is wrong."""
    for name, resource in templates.resources.items():
        if resource["Type"].removeprefix("AWS::") in kinds and (complaint := rule(templates, name)) is not None:
            yield f"{name} {complaint}"
