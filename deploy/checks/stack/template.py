"""A CloudFormation template as CloudFormation would fill it in, for the functions that ours uses."""

import re

import yaml

REGION = "eu-central-1"
ACCOUNT = "123456789012"
ABSENT = object()


class Loader(yaml.SafeLoader):
    """YAML with the short forms of the functions: !Ref, !Sub and the others."""


def short_form(loader, suffix, node):
    name = suffix if suffix in ("Ref", "Condition") else "Fn::" + suffix
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
        return {name: value.split(".", 1) if suffix == "GetAtt" else value}
    if isinstance(node, yaml.SequenceNode):
        return {name: loader.construct_sequence(node, deep=True)}
    return {name: loader.construct_mapping(node, deep=True)}


Loader.add_multi_constructor("!", short_form)


class Template:
    def __init__(self, path, **parameters):
        with open(path, encoding="utf-8") as file:
            self.tree = yaml.load(file, Loader)
        unknown = set(parameters) - set(self.tree["Parameters"])
        assert not unknown, f"no such parameters: {unknown}"
        self.parameters = {
            name: self.parameter(name, declared, parameters.get(name, declared.get("Default")))
            for name, declared in self.tree["Parameters"].items()
        }
        for rule in self.tree["Rules"].values():
            if self.filled(rule.get("RuleCondition", True)):
                for assertion in rule["Assertions"]:
                    assert self.filled(assertion["Assert"]), assertion["AssertDescription"]

    @staticmethod
    def parameter(name, declared, value):
        assert value is not None, f"{name} has no default"
        if declared["Type"] == "Number":
            return float(value) if "." in str(value) else int(value)
        if declared["Type"] == "CommaDelimitedList":
            return str(value).split(",")
        assert declared["Type"] == "String", declared["Type"]
        pattern = declared.get("AllowedPattern")
        assert pattern is None or re.fullmatch(pattern, value), f"{name}: {value} is not {pattern}"
        assert value in declared.get("AllowedValues", [value]), f"{name}: {value}"
        return value

    def resources(self):
        """By logical name: the type, and the properties filled in."""
        return {
            name: (resource["Type"], self.filled(resource.get("Properties", {})))
            for name, resource in self.tree["Resources"].items()
            if self.holds(resource.get("Condition"))
        }

    def output(self, name):
        return self.filled(self.tree["Outputs"][name]["Value"])

    def holds(self, name):
        return name is None or self.filled(self.tree["Conditions"][name])

    def filled(self, value):
        if isinstance(value, list):
            return [item for item in map(self.filled, value) if item is not ABSENT]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            name, argument = next(iter(value.items()))
            if name in ("Ref", "Condition") or name.startswith("Fn::"):
                return self.function(name, argument)
        pairs = {key: self.filled(item) for key, item in value.items()}
        return {key: item for key, item in pairs.items() if item is not ABSENT}

    def function(self, name, argument):
        match name:
            case "Ref":
                return self.reference(argument)
            case "Condition":
                return self.holds(argument)
            case "Fn::GetAtt":
                return self.attribute(*argument)
            case "Fn::If":
                return self.filled(argument[1] if self.holds(argument[0]) else argument[2])
            case "Fn::Equals":
                first, second = self.filled(argument)
                return str(first) == str(second)
            case "Fn::Not":
                return not self.filled(argument[0])
            case "Fn::And":
                return all(map(self.filled, argument))
            case "Fn::Or":
                return any(map(self.filled, argument))
            case "Fn::Contains":
                texts, text = self.filled(argument)
                return text in texts
            case "Fn::Join":
                return argument[0].join(self.filled(argument[1]))
            case "Fn::Sub":
                text, values = argument if isinstance(argument, list) else (argument, {})
                return re.sub(r"\$\{([^}]+)\}", lambda match: self.substituted(match[1], values), text)
        raise AssertionError(f"{name} is not known here")

    def substituted(self, name, values):
        if name.startswith("!"):
            return "${" + name[1:] + "}"
        if name in values:
            return str(self.filled(values[name]))
        return str(self.attribute(*name.split(".", 1)) if "." in name else self.reference(name))

    def reference(self, name):
        pseudo = {"AWS::Region": REGION, "AWS::Partition": "aws", "AWS::URLSuffix": "amazonaws.com",
                  "AWS::AccountId": ACCOUNT, "AWS::NoValue": ABSENT}
        if name in pseudo:
            return pseudo[name]
        if name in self.parameters:
            return self.parameters[name]
        resource = self.tree["Resources"][name]
        named = {
            "AWS::S3::Bucket": "BucketName",
            "AWS::IAM::Role": "RoleName",
            "AWS::IAM::InstanceProfile": "InstanceProfileName",
        }
        if resource["Type"] in named:
            return self.filled(resource["Properties"][named[resource["Type"]]])
        assert resource["Type"] == "AWS::CloudFront::Distribution", resource["Type"]
        return "E1"

    def attribute(self, name, attribute):
        resource = self.tree["Resources"][name]
        match resource["Type"], attribute:
            case "AWS::IAM::Role", "Arn":
                return f"arn:aws:iam::{ACCOUNT}:role/{self.reference(name)}"
            case "AWS::S3::Bucket", "RegionalDomainName":
                return f"{self.reference(name)}.s3.{REGION}.amazonaws.com"
            case "AWS::CloudFront::Distribution", "DomainName":
                return "d1.cloudfront.net"
            case "AWS::CloudFront::OriginAccessControl", "Id":
                return "E2"
        raise AssertionError(f"{name}.{attribute} is not known here")
