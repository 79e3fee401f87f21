locals {
  makes_worker    = var.worker != "existing"
  worker_arn      = local.makes_worker ? one(aws_iam_role.worker[*].arn) : var.worker_arn
  worker_role     = local.makes_worker ? one(aws_iam_role.worker[*].name) : var.worker_role_name
  gets_policies   = local.makes_worker || var.worker_role_name != null
  worker_document = jsondecode(replace(local.policies["worker-policy.json"], "SESSION_ROLE_ARN", aws_iam_role.session.arn))
  worker_statements = [
    for statement in local.worker_document.Statement : statement
    if !(var.renews_users_folders && statement.Sid == "NeverUsersFolders")
  ]
  worker_policy   = jsonencode(merge(local.worker_document, { Statement = local.worker_statements }))
  revoker_policy  = replace(local.policies["revoker-policy.json"], "SESSION_ROLE_ARN", aws_iam_role.session.arn)
  worker_trust    = local.policies[var.worker == "irsa" ? "worker-trust-irsa.json" : "worker-trust-service.json"]
  trust_file      = var.sharing ? "session-role-trust-sharing.json" : "session-role-trust.json"
  session_trust   = replace(local.policies[local.trust_file], "WORKER_ARN", coalesce(local.worker_arn, "no-worker"))
  release_policy  = local.policies[var.release_mode == "tag" ? "release-tag-policy.json" : "release-policy.json"]
  session_folders = local.policies["session-role-policy.json"]
}

# The worker

resource "aws_iam_role" "worker" {
  count              = local.makes_worker ? 1 : 0
  name               = "${var.name}-worker"
  assume_role_policy = local.worker_trust

  lifecycle {
    precondition {
      condition     = var.worker != "irsa" || var.oidc_provider_arn != null
      error_message = "worker = \"irsa\" needs oidc_provider_arn."
    }
  }
}

resource "aws_iam_instance_profile" "worker" {
  count = var.worker == "ec2" ? 1 : 0
  name  = "${var.name}-worker"
  role  = aws_iam_role.worker[0].name
}

# What the worker itself does with its own credentials.
resource "aws_iam_role_policy" "worker" {
  count  = local.gets_policies ? 1 : 0
  name   = "cloakroom-worker"
  role   = local.worker_role
  policy = local.worker_policy
}

resource "aws_iam_role_policy" "worker_kms" {
  count  = local.gets_policies && var.kms_key_arn != null ? 1 : 0
  name   = "cloakroom-kms"
  role   = local.worker_role
  policy = local.policies["kms-policy.json"]
}

# On the prefix of images of chats alone.
resource "aws_iam_role_policy" "worker_release" {
  count  = local.gets_policies && local.keeps_chats ? 1 : 0
  name   = "cloakroom-release"
  role   = local.worker_role
  policy = local.release_policy
}

resource "aws_iam_role_policy" "worker_doctor" {
  count  = local.gets_policies && var.doctor ? 1 : 0
  name   = "cloakroom-doctor"
  role   = local.worker_role
  policy = local.policies["doctor-policy.json"]
}

# Sessions of users

# Who may open sessions for users, and how they must be tagged.
resource "aws_iam_role" "session" {
  name                 = "${var.name}-app"
  max_session_duration = var.maximum_session_seconds
  assume_role_policy   = local.session_trust
  # With the inline policy that `cloakroom user revoke --apply` leaves, IAM would delete no role (DeleteConflict): it goes with the role.
  force_detach_policies = true

  lifecycle {
    precondition {
      condition     = local.makes_worker || var.worker_arn != null
      error_message = "worker = \"existing\" needs worker_arn."
    }
  }
}

# The second lock: whatever the session policy says, a session stays in the folders of its tag.
resource "aws_iam_role_policy" "session" {
  name   = "users-folders"
  role   = aws_iam_role.session.id
  policy = local.session_folders
}

# What other users share, by tags of the session.
resource "aws_iam_role_policy" "session_sharing" {
  count  = var.sharing ? 1 : 0
  name   = "shared-folders"
  role   = aws_iam_role.session.id
  policy = local.policies["sharing-policy.json"]
}

resource "aws_iam_role_policy" "session_kms" {
  count  = var.kms_key_arn == null ? 0 : 1
  name   = "cloakroom-kms"
  role   = aws_iam_role.session.id
  policy = local.policies["kms-policy.json"]
}

# Revocation of single users: there as long as the list has an entry.
resource "aws_iam_role_policy" "deny_users" {
  count  = length(var.revoked_user_ids) == 0 ? 0 : 1
  name   = "deny-users"
  role   = aws_iam_role.session.id
  policy = local.policies["deny-user.json"]
}

# Revocation of every session older than a moment; it can go once the longest lifetime has passed.
resource "aws_iam_role_policy" "deny_older_sessions" {
  count  = var.revoke_sessions_before == null ? 0 : 1
  name   = "deny-older-sessions"
  role   = aws_iam_role.session.id
  policy = local.policies["deny-older-sessions.json"]
}
