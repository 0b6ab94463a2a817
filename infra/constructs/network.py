"""A small VPC for the processes of a stage, if you name no VPC of your own: two public subnets, no NAT gateway, which costs by the hour.

A task has a public address, by which it reaches AWS; nothing reaches the task, because its security group lets nothing in. The tables and
buckets are reached through gateway endpoints, which cost nothing.
"""

from typing import NamedTuple

from aws_cdk import Aws, Fn
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from ..nag import acknowledge

_RANGE = "10.77.0.0/23"
_SUBNETS = ("10.77.0.0/24", "10.77.1.0/24")
_NO_FLOW = "Its security group lets nothing in, and the outgoing traffic is calls to AWS, which CloudTrail records."


class Network(NamedTuple):
    """Where tasks run: *subnets*, *groups* (none: the VPC's default one), and whether each gets a public address."""

    subnets: tuple[str, ...]
    groups: tuple[str, ...]
    public: bool


class SmallVpc(Construct):
    """The VPC."""

    def __init__(self, scope: Construct, name: str) -> None:
        super().__init__(scope, name)
        vpc = ec2.CfnVPC(self, "Vpc", cidr_block=_RANGE, enable_dns_support=True, enable_dns_hostnames=True)
        acknowledge(vpc, "AwsSolutions-VPC7", _NO_FLOW)
        gateway = ec2.CfnInternetGateway(self, "Gateway")
        attached = ec2.CfnVPCGatewayAttachment(self, "Attached", vpc_id=vpc.ref, internet_gateway_id=gateway.ref)
        table = ec2.CfnRouteTable(self, "Routes", vpc_id=vpc.ref)
        out = ec2.CfnRoute(self, "Out", route_table_id=table.ref, destination_cidr_block="0.0.0.0/0", gateway_id=gateway.ref)
        out.add_dependency(attached)
        subnets = []
        for number, block in enumerate(_SUBNETS):
            zone = Fn.select(number, Fn.get_azs())
            subnet = ec2.CfnSubnet(self, f"Subnet{number}", vpc_id=vpc.ref, cidr_block=block, availability_zone=zone)
            ec2.CfnSubnetRouteTableAssociation(self, f"Routed{number}", subnet_id=subnet.ref, route_table_id=table.ref)
            subnets.append(subnet.ref)
        for service in ("dynamodb", "s3"):
            ec2.CfnVPCEndpoint(
                self, f"To-{service}", vpc_id=vpc.ref, service_name=f"com.amazonaws.{Aws.REGION}.{service}", route_table_ids=[table.ref]
            )
        anywhere = ec2.CfnSecurityGroup.EgressProperty(ip_protocol="-1", cidr_ip="0.0.0.0/0", description="to AWS, and to what tasks call")
        group = ec2.CfnSecurityGroup(
            self, "Group", vpc_id=vpc.ref, group_description="sedano: lets nothing in", security_group_egress=[anywhere]
        )
        #: Where tasks run in it.
        self.network = Network(tuple(subnets), (group.attr_group_id,), public=True)
