# The policies are the JSON files beside this one, word for word; only the words in capitals are replaced.
# What each is for stands in README.md.

terraform {
  required_version = ">= 1.3"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0"
    }
  }
}

data "aws_partition" "current" {}

locals {
  files          = { for name in fileset(path.module, "*.json") : name => file("${path.module}/${name}") }
  with_partition = { for name, text in local.files : name => replace(text, "PARTITION", data.aws_partition.current.partition) }
  policies       = { for name, text in local.with_partition : name => replace(text, "BUCKET", var.bucket) }
  worker_policy  = replace(local.policies["worker-policy.json"], "SESSION_ROLE_ARN", aws_iam_role.session.arn)
}

# Who may open sessions for users, and how they must be tagged.
resource "aws_iam_role" "session" {
  name                 = var.session_role_name
  max_session_duration = var.maximum_session_seconds
  assume_role_policy   = replace(local.policies["session-role-trust.json"], "WORKER_ARN", var.worker_arn)
}

# The second lock: whatever the session policy says, a session stays in the folders of its tag.
resource "aws_iam_role_policy" "session" {
  name   = "users-folders"
  role   = aws_iam_role.session.id
  policy = local.policies["session-role-policy.json"]
}

# What the worker itself does with its own credentials.
resource "aws_iam_role_policy" "worker" {
  count  = var.worker_role_name == null ? 0 : 1
  name   = "cloakroom-worker"
  role   = var.worker_role_name
  policy = local.worker_policy
}

# Revocation of single users: there as long as the list has somebody.
resource "aws_iam_role_policy" "deny_users" {
  count  = length(var.revoked_user_ids) == 0 ? 0 : 1
  name   = "deny-users"
  role   = aws_iam_role.session.id
  policy = replace(local.policies["deny-user.json"], "[\"USER_ID\"]", jsonencode(sort(tolist(var.revoked_user_ids))))
}

# Revocation of every session older than a moment; it can go once the longest lifetime has passed.
resource "aws_iam_role_policy" "deny_older_sessions" {
  count  = var.revoke_sessions_before == null ? 0 : 1
  name   = "deny-older-sessions"
  role   = aws_iam_role.session.id
  policy = replace(local.policies["deny-older-sessions.json"], "BEFORE", var.revoke_sessions_before)
}
