"""What a stack comes to, in one form for Terraform's state and for CloudFormation's resources, so that they compare."""

import json

import documents


def document(value):
    return documents.normal(json.loads(value) if isinstance(value, str) else value)


def only(items):
    """The one of a list with one or none."""
    return items[0] if items else None


def prefix(condition):
    """Of a filter of Terraform's, alone or beside tags."""
    return (only(condition["and"]) or condition)["prefix"] or None


def tags(condition):
    both = only(condition["and"])
    return [list(tag) for tag in sorted((both["tags"] or {}).items())] if both else []


def behaviors(values, *keys):
    """What a distribution does with some paths otherwise than with all others."""
    return [[value[key] for key in keys] for value in values]


def from_cloudformation(template):
    stack = {}
    for kind, properties in template.resources().values():
        match kind:
            case "AWS::S3::Bucket":
                name = properties["BucketName"]
                access = properties["PublicAccessBlockConfiguration"]
                encryption = only(properties.get("BucketEncryption", {}).get("ServerSideEncryptionConfiguration"))
                stack[f"bucket {name} public access"] = sorted(key for key, value in access.items() if value)
                stack[f"bucket {name} owner"] = only(
                    [rule["ObjectOwnership"] for rule in properties.get("OwnershipControls", {}).get("Rules", [])])
                stack[f"bucket {name} encryption"] = encryption and [
                    encryption["ServerSideEncryptionByDefault"]["SSEAlgorithm"],
                    encryption["ServerSideEncryptionByDefault"].get("KMSMasterKeyID"), encryption["BucketKeyEnabled"]]
                stack[f"bucket {name} versioning"] = properties.get("VersioningConfiguration", {}).get("Status")
                stack[f"bucket {name} lifecycle"] = [
                    [rule["Id"], rule["Status"], rule.get("Prefix"), rule.get("ExpirationInDays"),
                     rule.get("ExpiredObjectDeleteMarker", False),
                     rule.get("NoncurrentVersionExpiration", {}).get("NoncurrentDays"),
                     rule.get("AbortIncompleteMultipartUpload", {}).get("DaysAfterInitiation"),
                     [[tag["Key"], tag["Value"]] for tag in rule.get("TagFilters", [])] + rule.get("Transitions", [])]
                    for rule in properties["LifecycleConfiguration"]["Rules"]]
                stack[f"bucket {name} CORS"] = [
                    [rule["Id"], rule["AllowedOrigins"], sorted(rule["AllowedMethods"]), rule["AllowedHeaders"],
                     sorted(rule["ExposedHeaders"]), rule["MaxAge"]]
                    for rule in properties.get("CorsConfiguration", {}).get("CorsRules", [])]
                stack[f"bucket {name} metrics"] = [
                    metric["Id"] for metric in properties.get("MetricsConfigurations", [])]
            case "AWS::S3::BucketPolicy":
                stack[f"bucket {properties['Bucket']} policy"] = document(properties["PolicyDocument"])
            case "AWS::IAM::Role":
                stack[f"role {properties['RoleName']}"] = [
                    properties.get("MaxSessionDuration", 3600), document(properties["AssumeRolePolicyDocument"])]
            case "AWS::IAM::RolePolicy":
                stack[f"role {properties['RoleName']} {properties['PolicyName']}"] = document(
                    properties["PolicyDocument"])
            case "AWS::IAM::ManagedPolicy":
                stack[f"policy {properties['ManagedPolicyName']}"] = document(properties["PolicyDocument"])
            case "AWS::IAM::InstanceProfile":
                stack[f"instance profile {properties['InstanceProfileName']}"] = only(properties["Roles"])
            case "AWS::CloudFront::OriginAccessControl":
                access = properties["OriginAccessControlConfig"]
                stack[f"access control {access['Name']}"] = [
                    access["OriginAccessControlOriginType"], access["SigningBehavior"], access["SigningProtocol"]]
            case "AWS::CloudFront::Distribution":
                config = properties["DistributionConfig"]
                origin, behavior = only(config["Origins"]), config["DefaultCacheBehavior"]
                certificate = config["ViewerCertificate"]
                stack["distribution"] = [
                    config["Enabled"], config["Comment"], config.get("Aliases", []), config["IPV6Enabled"],
                    config["HttpVersion"], origin["DomainName"], origin["OriginAccessControlId"],
                    behavior["ViewerProtocolPolicy"], behavior["AllowedMethods"], behavior["CachedMethods"],
                    behavior["CachePolicyId"], behavior["ResponseHeadersPolicyId"], certificate.get("AcmCertificateArn"),
                    certificate.get("SslSupportMethod"), certificate.get("MinimumProtocolVersion"),
                    behaviors(config.get("CacheBehaviors", []), "PathPattern", "TargetOriginId",
                              "ViewerProtocolPolicy", "AllowedMethods", "CachedMethods", "CachePolicyId",
                              "ResponseHeadersPolicyId")]
            case "AWS::CloudWatch::Alarm":
                stack[f"alarm {properties['AlarmName']}"] = [
                    properties[key] for key in (
                        "AlarmDescription", "Namespace", "MetricName", "Statistic", "ComparisonOperator", "Threshold",
                        "Period", "EvaluationPeriods", "TreatMissingData", "AlarmActions", "OKActions")
                ] + [{dimension["Name"]: dimension["Value"] for dimension in properties["Dimensions"]}]
            case _:
                raise AssertionError(f"{kind} has no counterpart here")
    return stack


def from_terraform(state):
    stack, buckets = {}, {}
    for resource in state["root_module"]["resources"]:
        kind, values = resource["type"], resource["values"]
        name = values.get("bucket")
        match kind:
            case "aws_s3_bucket":
                buckets[name] = values
            case "aws_s3_bucket_public_access_block":
                stack[f"bucket {name} public access"] = sorted(
                    "".join(part.title() for part in key.split("_")) for key, value in values.items() if value is True)
            case "aws_s3_bucket_ownership_controls":
                stack[f"bucket {name} owner"] = only(values["rule"])["object_ownership"]
            case "aws_s3_bucket_server_side_encryption_configuration":
                rule = only(values["rule"])
                standard = only(rule["apply_server_side_encryption_by_default"])
                stack[f"bucket {name} encryption"] = [
                    standard["sse_algorithm"], standard["kms_master_key_id"], rule["bucket_key_enabled"]]
            case "aws_s3_bucket_versioning":
                stack[f"bucket {name} versioning"] = only(values["versioning_configuration"])["status"]
            case "aws_s3_bucket_lifecycle_configuration":
                stack[f"bucket {name} lifecycle"] = [
                    [rule["id"], rule["status"], prefix(only(rule["filter"])), (only(rule["expiration"]) or {}).get("days") or None,
                     (only(rule["expiration"]) or {}).get("expired_object_delete_marker") or False,
                     (only(rule["noncurrent_version_expiration"]) or {}).get("noncurrent_days"),
                     (only(rule["abort_incomplete_multipart_upload"]) or {}).get("days_after_initiation"),
                     tags(only(rule["filter"])) + rule["transition"] + only(rule["filter"])["tag"]]
                    for rule in values["rule"]]
            case "aws_s3_bucket_cors_configuration":
                stack[f"bucket {name} CORS"] = [
                    [rule["id"], rule["allowed_origins"], sorted(rule["allowed_methods"]), rule["allowed_headers"],
                     sorted(rule["expose_headers"]), rule["max_age_seconds"]] for rule in values["cors_rule"]]
            case "aws_s3_bucket_metric":
                stack[f"bucket {name} metrics"] = [values["name"]]
            case "aws_s3_bucket_policy":
                stack[f"bucket {name} policy"] = document(values["policy"])
            case "aws_iam_role":
                stack[f"role {values['name']}"] = [
                    values["max_session_duration"] or 3600, document(values["assume_role_policy"])]
            case "aws_iam_role_policy":
                stack[f"role {values['role']} {values['name']}"] = document(values["policy"])
            case "aws_iam_policy":
                stack[f"policy {values['name']}"] = document(values["policy"])
            case "aws_iam_instance_profile":
                stack[f"instance profile {values['name']}"] = values["role"]
            case "aws_cloudfront_origin_access_control":
                stack[f"access control {values['name']}"] = [
                    values["origin_access_control_origin_type"], values["signing_behavior"],
                    values["signing_protocol"]]
            case "aws_cloudfront_distribution":
                origin, behavior = only(values["origin"]), only(values["default_cache_behavior"])
                certificate = only(values["viewer_certificate"])
                stack["distribution"] = [
                    values["enabled"], values["comment"], values["aliases"], values["is_ipv6_enabled"],
                    values["http_version"], origin["domain_name"], origin["origin_access_control_id"],
                    behavior["viewer_protocol_policy"], behavior["allowed_methods"], behavior["cached_methods"],
                    behavior["cache_policy_id"], behavior["response_headers_policy_id"], certificate["acm_certificate_arn"],
                    certificate["ssl_support_method"], certificate["minimum_protocol_version"],
                    behaviors(values["ordered_cache_behavior"], "path_pattern", "target_origin_id",
                              "viewer_protocol_policy", "allowed_methods", "cached_methods", "cache_policy_id",
                              "response_headers_policy_id")]
            case "aws_cloudwatch_metric_alarm":
                stack[f"alarm {values['alarm_name']}"] = [
                    values[key] for key in (
                        "alarm_description", "namespace", "metric_name", "statistic", "comparison_operator",
                        "threshold", "period", "evaluation_periods", "treat_missing_data", "alarm_actions",
                        "ok_actions", "dimensions")]
            case "aws_partition" | "aws_region":
                pass
            case _:
                raise AssertionError(f"{kind} has no counterpart here")
    for name in buckets:
        for what, nothing in (("owner", None), ("encryption", None), ("versioning", None), ("CORS", []),
                              ("metrics", [])):
            stack.setdefault(f"bucket {name} {what}", nothing)
    return stack
