# The policies are the JSON files of ../iam, unchanged; only the words in capitals are replaced.
# What each is for stands in its README.md.

locals {
  has_chats = var.chat_key_prefix != ""
  # Where such images are: with those of earlier prefixes, which stay until their rules end them.
  chat_prefixes = concat(compact([var.chat_key_prefix]), var.former_chat_prefixes)
  keeps_chats   = length(local.chat_prefixes) > 0

  # Those lifecycle prefixes that a user's folder begins with, or that lie within one.
  prefixes_with_users = [
    for prefix in var.lifecycle_prefixes : prefix
    if anytrue([for folder in var.folders : startswith("${folder}/", prefix) || startswith(prefix, "${folder}/")])
  ]
  # Where canaries and the doctor's objects are.
  own_prefix = concat(
    [for prefix in var.lifecycle_prefixes : prefix if endswith(prefix, "/") && !contains(local.prefixes_with_users, prefix)],
    [""],
  )[0]

  # What renewals are tested with, where no lifecycle prefix is for it: where versions are kept, each test leaves one.
  renewal_tests = [
    for key in [for place in distinct(concat([var.key_prefix, var.renewal_key_prefix], var.former_prefixes)) : "${place}cloakroom-renewal-test"] : key
    if var.versioning != "never" && !anytrue([
      for prefix in concat(var.lifecycle_prefixes, [for folder in var.folders : "${folder}/"]) : startswith(key, prefix)
    ])
  ]

  # A quoted string with one of these becomes one string for each value.
  lists = {
    FOLDER  = var.folders
    PLACE   = distinct(concat([var.key_prefix, var.renewal_key_prefix], var.renews_users_folders ? [] : var.former_prefixes))
    USER_ID = sort(tolist(var.revoked_user_ids))

    CHAT_PREFIX = local.keeps_chats ? local.chat_prefixes : ["no-chats/"]
  }

  words = {
    PARTITION           = data.aws_partition.current.partition
    BUCKET              = var.bucket
    OWN_PREFIX          = local.own_prefix
    TEST_BUCKET         = coalesce(var.test_bucket, "no-test-bucket")
    UPLOAD_MILLISECONDS = tostring(var.upload_lifetime_seconds * 1000)
    KMS_KEY_ARN         = coalesce(var.kms_key_arn, "no-key")
    REGION              = data.aws_region.current.id
    DNS_SUFFIX          = data.aws_partition.current.dns_suffix
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
