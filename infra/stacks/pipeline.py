"""The job that turns a stage's history into tables: one Spark job on Glue, off until it is started or scheduled; or on EMR Serverless, if
the setting says so.

    history bucket events/  ->  job (build, then compact)  ->  history bucket history/

Glue's own queue of runs is not available with spare capacity ("must be set to false for flex jobs"), which costs a third less. So a run
that meets another one fails at once, and the lease in the control table keeps two from doing the same work, wherever they were started.
"""

import tempfile
from pathlib import Path

from aws_cdk import ArnFormat, CfnOutput, Duration, RemovalPolicy
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_emrserverless as emr
from aws_cdk import aws_events as events
from aws_cdk import aws_glue as glue
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_assets as s3_assets
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from .. import assets
from ..config import StageConfig
from ..constructs.function import RETENTION
from ..constructs.role import role_for
from ..nag import acknowledge, acknowledge_wildcard
from ..places import HISTORY_PREFIX, JOBS, library
from .stage_stack import StageStack
from .state import CONTROL, HISTORY, KEY, StateStack

#: The prefix of the tables in the history bucket.
TABLES_PREFIX = "history/"
#: The one item of the control table that a run may touch: its lease.
LEASE = "LEASE#history"
WORKERS = 2
#: EMR Serverless, "Release versions": the first with Spark 4. The job needs Python 3.11 or later.
EMR_RELEASE = "emr-spark-8.0.0"
#: The actions of Glue that `sedano.spark.spark_task` calls.
STARTS = ("glue:StartJobRun", "glue:GetJobRuns", "glue:BatchStopJobRun")


class PipelineStack(StageStack):
    """The Spark job over one stage's history."""

    def __init__(self, scope: Construct, *, config: StageConfig, state: StateStack, worker: iam.IRole) -> None:
        """`worker`: the role under which tasks run; with `pipeline_by_task` a task may start the job, wait for it and stop it.

        The arguments of a run can name code, which then runs under the job's role: a task may start it only if the setting allows it.
        """
        super().__init__(scope, "pipeline", config=config, about="the history as tables")
        self._config, self._state = config, state
        self._bucket = s3.Bucket.from_bucket_name(self, "History", state.output(HISTORY))
        self._library = self._add_library()
        self._script = s3_assets.Asset(self, "Script", path=str(JOBS / "history.py"))
        if config.pipeline == "glue":
            job = self._add_job(self._role("glue.amazonaws.com", self._add_logs()))
            self._add_alarms(job.metric_failure(period=Duration.minutes(5)), job.metric_success(period=Duration.hours(1), statistic="Sum"))
            self._acknowledge_rules(job)
            self._add_schedule(job)
            if config.pipeline_by_task:
                arn = self.format_arn(service="glue", resource="job", resource_name=job.job_name)
                iam.Policy(self, "Starts", roles=[worker], statements=[iam.PolicyStatement(actions=[*STARTS], resources=[arn])])
            CfnOutput(self, "SedanoHistoryJob", value=job.job_name)
        else:
            self._add_emr(self._role("emr-serverless.amazonaws.com"))

    def _add_library(self) -> s3_assets.Asset:
        """The library and the jobs as one archive, in the form that Spark's Python loads."""
        with tempfile.TemporaryDirectory() as scratch:
            assets.copy(library(), Path(scratch))
            assets.copy(JOBS, Path(scratch) / "glue_jobs")
            return s3_assets.Asset(self, "Library", path=scratch)

    def _role(self, service: str, *logs: str) -> iam.Role:
        """Return a role that may only read its own code and the landed events, write tables, take the lease, and write *logs*."""
        role = role_for(self, "Role", service)
        table = self.format_arn(service="dynamodb", resource="table", resource_name=self._state.output(CONTROL))
        events, tables = (self._bucket.arn_for_objects(f"{prefix}*") for prefix in (HISTORY_PREFIX, TABLES_PREFIX))
        # Not the CDK's `grant_read`, which allows reading all files that were ever deployed from this account.
        for code in (self._library, self._script):
            self._allow(role, ["s3:GetObject"], code.bucket.arn_for_objects(code.s3_object_key))
        self._allow(role, ["s3:ListBucket"], self._bucket.bucket_arn)
        self._allow(role, ["s3:GetObject"], events)
        self._allow(role, ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"], tables)
        lease = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [LEASE]}}
        self._allow(role, ["dynamodb:GetItem", "dynamodb:UpdateItem"], table, lease)
        if logs:
            role.add_to_policy(iam.PolicyStatement(actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[*logs]))
        reasons = {events: "the recorder's objects", tables: "the tables' objects", **dict.fromkeys(logs, "its log streams")}
        for arn, words in reasons.items():
            acknowledge_wildcard(role.node.find_child("DefaultPolicy"), arn, f"The job names no single object here: {words}.")
        return role

    def _allow(self, role: iam.Role, actions: list[str], resource: str, conditions: dict[str, dict[str, list[str]]] | None = None) -> None:
        role.add_to_policy(iam.PolicyStatement(actions=actions, resources=[resource], conditions=conditions))

    def _add_logs(self) -> str:
        """The job's own log groups, which expire, as a policy names them; Glue's default groups belong to the account and are kept for
        ever.

        Source: AWS Glue, "Logging for AWS Glue jobs": with a prefix of one's own the groups are called PREFIX/error and PREFIX/output.
        """
        for name in ("error", "output"):
            logs.LogGroup(
                self, f"Logs-{name}", log_group_name=f"{self._logs_prefix()}/{name}", retention=RETENTION[self._config.retention],
                removal_policy=RemovalPolicy.DESTROY,
            )  # fmt: skip
        named = f"{self._logs_prefix()}/*"
        return self.format_arn(service="logs", resource="log-group", resource_name=named, arn_format=ArnFormat.COLON_RESOURCE_NAME)

    def _logs_prefix(self) -> str:
        return f"/sedano/{self._config.stage}/history"

    def _add_security(self) -> glue.SecurityConfiguration:
        """The encryption of the job's objects: a job's own setting overrides that of its bucket.

        It cannot be changed under one name, so each version has its own. The CDK retains it by default, and then the name would be taken
        when the stage is deployed again after it was destroyed. It holds no data, so it is deleted with its stack.
        """
        if self._config.own_key:
            key = kms.Key.from_key_arn(self, "Key", self._state.output(KEY))
            security = glue.SecurityConfiguration(self, "KeyedSecurity", s3_encryption=glue.S3Encryption.kms(key))
        else:
            security = glue.SecurityConfiguration(self, "Security", s3_encryption=glue.S3Encryption.s3_managed())
        security.apply_removal_policy(RemovalPolicy.DESTROY)
        return security

    def _add_job(self, role: iam.Role) -> glue.PySparkFlexEtlJob:
        security = self._add_security()
        bucket = self._bucket.bucket_name
        job = glue.PySparkFlexEtlJob(
            self, "Job",
            role=role.without_policy_updates(),
            script=glue.Code.from_bucket(self._script.bucket, self._script.s3_object_key),
            extra_python_files=[glue.Code.from_bucket(self._library.bucket, self._library.s3_object_key)],
            # They are not used, and the role would need the right to write any metric of the account.
            enable_metrics=False,
            enable_observability_metrics=False,
            glue_version=glue.GlueVersion.V6_0,
            worker_configuration=glue.WorkerConfiguration(number_of_workers=WORKERS, worker_type=glue.WorkerType.G_1X),
            max_concurrent_runs=1,
            max_retries=0,
            timeout=Duration.hours(2),
            notify_delay_after=Duration.hours(1),
            security_configuration=security,
            default_arguments={
                "--verb": "update", "--source": f"s3://{bucket}/{HISTORY_PREFIX}", "--target": f"s3://{bucket}/{TABLES_PREFIX}",
                "--control-table": self._state.output(CONTROL), "--job-bookmark-option": "job-bookmark-disable",
                "--custom-logGroup-prefix": self._logs_prefix(),
            },
        )  # fmt: skip
        acknowledge(job, "AwsSolutions-GL1", "CloudWatch always encrypts; a key of one's own costs a dollar a month while nothing runs.")
        acknowledge(job, "AwsSolutions-GL3", "The job has no bookmarks: the history's own manifests list the processed files.")
        return job

    def _add_alarms(self, failed: cloudwatch.Metric, succeeded: cloudwatch.Metric) -> None:
        """Add the alarms for a run that failed, and for a history that is behind: no run has succeeded for the hours of the setting."""
        compare, missing = cloudwatch.ComparisonOperator, cloudwatch.TreatMissingData
        cloudwatch.Alarm(
            self, "Failed", metric=failed, threshold=1, evaluation_periods=1,
            comparison_operator=compare.GREATER_THAN_OR_EQUAL_TO_THRESHOLD, treat_missing_data=missing.NOT_BREACHING,
            alarm_description="A run of the history job failed; its log says why, and the next run processes what this one did not.",
        )  # fmt: skip
        if self._config.pipeline_schedule is not None:
            cloudwatch.Alarm(
                self, "Behind", metric=succeeded, threshold=1,
                evaluation_periods=self._config.pipeline_lag, datapoints_to_alarm=self._config.pipeline_lag,
                comparison_operator=compare.LESS_THAN_THRESHOLD, treat_missing_data=missing.BREACHING,
                alarm_description=f"No run of the history job has succeeded for {self._config.pipeline_lag} h: the tables are behind.",
            )  # fmt: skip

    def _acknowledge_rules(self, job: glue.PySparkFlexEtlJob) -> None:
        for child in job.node.children:
            if child.node.id.endswith("MetricRule"):
                acknowledge(child, "Serverless-EventBusDLQ", "The CDK's rule that counts runs has no target: nothing can fail.")

    def _add_schedule(self, job: glue.PySparkFlexEtlJob) -> None:
        if self._config.pipeline_schedule is not None:
            action = glue.CfnTrigger.ActionProperty(job_name=job.job_name)
            glue.CfnTrigger(
                self, "Schedule", type="SCHEDULED", schedule=self._config.pipeline_schedule, start_on_creation=True, actions=[action]
            )

    def _add_emr(self, role: iam.Role) -> None:
        """An application that costs nothing while no job runs; the outputs are the arguments of `aws emr-serverless start-job-run`.

        EMR Serverless keeps the logs of a run in its own storage for 30 days, without a charge.
        """
        limit = emr.CfnApplication.MaximumAllowedResourcesProperty(cpu="8 vCPU", memory="32 GB", disk="100 GB")
        application = emr.CfnApplication(
            self, "Application", release_label=EMR_RELEASE, type="SPARK", architecture="ARM64", maximum_capacity=limit,
            auto_start_configuration=emr.CfnApplication.AutoStartConfigurationProperty(enabled=True),
            auto_stop_configuration=emr.CfnApplication.AutoStopConfigurationProperty(enabled=True, idle_timeout_minutes=5),
        )  # fmt: skip
        failed, succeeded = (self._runs_that(state, application.attr_application_id) for state in ("FAILED", "SUCCESS"))
        self._add_alarms(failed.with_(period=Duration.minutes(5)), succeeded.with_(period=Duration.hours(1)))
        self._add_emr_schedule(application, role)
        CfnOutput(self, "SedanoHistoryApplication", value=application.attr_application_id)
        CfnOutput(self, "SedanoHistoryRole", value=role.role_arn)
        CfnOutput(self, "SedanoHistoryLibrary", value=self._library.s3_object_url)
        CfnOutput(self, "SedanoHistoryScript", value=self._script.s3_object_url)

    def _runs_that(self, state: str, application: str) -> cloudwatch.Metric:
        """How many runs reached this state, by EventBridge's events."""
        told = events.EventPattern(
            source=["aws.emr-serverless"],
            detail_type=["EMR Serverless Job Run State Change"],
            detail={"state": [state], "applicationId": [application]},
        )
        rule = events.Rule(self, f"Runs-{state}", event_pattern=told)
        acknowledge(rule, "Serverless-EventBusDLQ", "The rule counts runs and has no target: nothing can fail.")
        return cloudwatch.Metric(
            namespace="AWS/Events", metric_name="TriggeredRules", dimensions_map={"RuleName": rule.rule_name}, statistic="Sum"
        )

    def _add_emr_schedule(self, application: emr.CfnApplication, job: iam.Role) -> None:
        """Have EventBridge Scheduler start a run, by the universal target that calls any service."""
        if self._config.pipeline_schedule is None:
            return
        role = role_for(self, "Starter", "scheduler.amazonaws.com")
        self._allow(role, ["emr-serverless:StartJobRun"], application.attr_arn)
        self._allow(role, ["iam:PassRole"], job.role_arn, {"StringEquals": {"iam:PassedToService": ["emr-serverless.amazonaws.com"]}})
        retry = scheduler.CfnSchedule.RetryPolicyProperty(maximum_event_age_in_seconds=3600, maximum_retry_attempts=5)
        scheduler.CfnSchedule(
            self,
            "Schedule",
            schedule_expression=self._config.pipeline_schedule,
            flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=scheduler.CfnSchedule.TargetProperty(
                arn="arn:aws:scheduler:::aws-sdk:emrserverless:startJobRun",
                role_arn=role.role_arn,
                input=self.to_json_string(self._run(application.attr_application_id, job)),
                retry_policy=retry,
            ),
        )

    def _run(self, application: str, job: iam.Role) -> dict[str, object]:
        """A run of the job, in the form of StartJobRun of EMR Serverless."""
        bucket = self._bucket.bucket_name
        arguments = ["update", "--source", f"s3://{bucket}/{HISTORY_PREFIX}", "--target", f"s3://{bucket}/{TABLES_PREFIX}"]
        submit = {
            "EntryPoint": self._script.s3_object_url,
            "EntryPointArguments": [*arguments, "--control-table", self._state.output(CONTROL)],
            "SparkSubmitParameters": f"--py-files {self._library.s3_object_url}",
        }
        return {
            "ApplicationId": application,
            "ClientToken": "<aws.scheduler.execution-id>",
            "ExecutionRoleArn": job.role_arn,
            "JobDriver": {"SparkSubmit": submit},
        }
