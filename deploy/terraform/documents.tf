# The policies are the JSON files of ../iam, word for word; only the words in capitals are replaced.
# What each is for stands in its README.md.

locals {
  # A quoted string with one of these becomes one string for each value.
  lists = {
    FOLDER  = var.folders
    USER_ID = sort(tolist(var.revoked_user_ids))
  }

  words = {
    PARTITION           = data.aws_partition.current.partition
    BUCKET              = var.bucket
    KEY_PREFIX          = var.key_prefix
    TEST_BUCKET         = coalesce(var.test_bucket, "no-test-bucket")
    UPLOAD_MILLISECONDS = tostring(var.upload_lifetime_seconds * 1000)
    KMS_KEY_ARN         = coalesce(var.kms_key_arn, "no-key")
    BEFORE              = coalesce(var.revoke_sessions_before, "never")
    SERVICE             = lookup({ ec2 = "ec2.amazonaws.com", ecs = "ecs-tasks.amazonaws.com" }, var.worker, "no-service")
    OIDC_PROVIDER_ARN   = coalesce(var.oidc_provider_arn, "no-provider")
    OIDC_ISSUER         = element(split(":oidc-provider/", coalesce(var.oidc_provider_arn, "no-provider")), 1)
    SERVICE_ACCOUNT     = var.service_account
  }

  files = { for name in fileset("${path.module}/../iam", "*.json") : name => file("${path.module}/../iam/${name}") }

  repeated = {
    for name, text in local.files : name => join("\"", [
      for piece in split("\"", text) : join("\", \"", concat(
        [for word, values in local.lists : join("\", \"", [for value in values : replace(piece, word, value)]) if strcontains(piece, word)],
        anytrue([for word in keys(local.lists) : strcontains(piece, word)]) ? [] : [piece],
      ))
    ])
  }

  # Words whose meaning is made by this very module stay for where they are known.
  policies = {
    for name, text in local.repeated : name => join("", [
      for piece in regexall("[A-Z_]+|[^A-Z_]+", text) : lookup(local.words, piece, piece)
    ])
  }
}
