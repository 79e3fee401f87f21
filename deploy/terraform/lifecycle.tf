locals {
  # Canaries, the doctor's objects and what renewals are tested with have rules of their own where none of the prefixes is
  # for them.
  own = concat(
    local.own_prefix == "" && !contains(var.lifecycle_prefixes, "") ? ["cloakroom-canary/", "cloakroom-doctor/"] : [],
    local.renewal_tests,
  )
  # Those came later than the rule that cleans up: one that took its place in the list would keep what it does not say.
  rules = [
    for rule in concat(
      [for prefix in var.lifecycle_prefixes : { prefix = prefix, cleans_up = false }],
      [{ prefix = "", cleans_up = true }],
      [for prefix in local.own : { prefix = prefix, cleans_up = false }],
    ) : rule
    if rule.cleans_up || var.retention_days != null || var.versioning != "never"
  ]
  # What lies where no other rule is for it: S3 would obey the shorter.
  chat_overlaps = distinct([
    for prefix in concat(
      var.lifecycle_prefixes, [for folder in var.folders : "${folder}/"],
      [for place in concat([var.key_prefix, var.renewal_key_prefix], var.former_prefixes) : place if place != ""],
    ) : prefix
    if anytrue([for chats in local.chat_prefixes : startswith(prefix, chats) || startswith(chats, prefix)])
  ])

  chat_nesting = distinct([
    for pair in setproduct(range(length(local.chat_prefixes)), range(length(local.chat_prefixes))) :
    local.chat_prefixes[pair[0]]
    if pair[0] != pair[1] && startswith(local.chat_prefixes[pair[0]], local.chat_prefixes[pair[1]])
  ])

  # Uploads have names of hexadecimal digits. What prefixes say of these behind key_prefix, without those that another includes.
  digits = distinct([
    for prefix in var.lifecycle_prefixes : trimprefix(prefix, var.key_prefix)
    if startswith(prefix, var.key_prefix) && can(regex("^[0-9a-f]+$", trimprefix(prefix, var.key_prefix)))
  ])
  first_digits = [
    for digits in local.digits : digits
    if !anytrue([for other in local.digits : other != digits && startswith(digits, other)])
  ]
  # Each is for one name in 16 to the power of its length; together they may be for all.
  share_of_names = sum(concat([0], [for digits in local.first_digits : pow(16, -length(digits))]))
}

# The rules that `cloakroom lifecycle apply` would put: what is not renewed under these prefixes is deleted.
resource "aws_s3_bucket_lifecycle_configuration" "assets" {
  bucket = aws_s3_bucket.assets.id

  dynamic "rule" {
    for_each = local.rules
    content {
      id = rule.value.cleans_up ? "clean-up" : join("-", compact([
        var.retention_days == null ? "remove-old-versions" : "expire-after-${var.retention_days}-days", rule.value.prefix,
      ]))
      status = "Enabled"

      # Empty: for every object. Said all the same, or the provider would leave an earlier one.
      filter {
        prefix = rule.value.prefix
      }

      # For the whole bucket a rule deletes neither objects nor their versions. What was deleted in a bucket with versions
      # leaves a marker; S3 takes this beside no number of days.
      dynamic "expiration" {
        for_each = [
          for days in [rule.value.cleans_up ? null : var.retention_days] : days
          if rule.value.cleans_up ? var.versioning != "never" : var.retention_days != null
        ]
        content {
          days                         = expiration.value
          expired_object_delete_marker = rule.value.cleans_up ? true : null
        }
      }

      dynamic "noncurrent_version_expiration" {
        for_each = rule.value.cleans_up || var.versioning == "never" ? [] : [var.noncurrent_days]
        content {
          noncurrent_days = noncurrent_version_expiration.value
        }
      }

      dynamic "abort_incomplete_multipart_upload" {
        for_each = rule.value.cleans_up ? [7] : []
        content {
          days_after_initiation = abort_incomplete_multipart_upload.value
        }
      }
    }
  }

  # Images of chats that no app releases.
  dynamic "rule" {
    for_each = local.chat_prefixes
    content {
      id     = "expire-after-${var.chat_retention_days}-days-${rule.value}"
      status = "Enabled"

      filter {
        prefix = rule.value
      }

      expiration {
        days = var.chat_retention_days
      }

      dynamic "noncurrent_version_expiration" {
        for_each = var.versioning == "never" ? [] : [var.noncurrent_days]
        content {
          noncurrent_days = noncurrent_version_expiration.value
        }
      }
    }
  }

  # Those that are released with a tag, in both modes: what got its tag before the mode changed ends by it too. S3 takes
  # nothing but days beside one.
  dynamic "rule" {
    for_each = local.chat_prefixes
    content {
      id     = "expire-after-1-days-released-${rule.value}"
      status = "Enabled"

      filter {
        and {
          prefix = rule.value
          tags   = { cloakroom-released = "true" }
        }
      }

      expiration {
        days = 1
      }
    }
  }

  lifecycle {
    precondition {
      condition     = length(local.chat_overlaps) == 0
      error_message = "chat_key_prefix and former_chat_prefixes have to lie beside all other prefixes; they meet ${join(", ", [for prefix in local.chat_overlaps : "\"${prefix}\""])}."
    }

    precondition {
      condition     = length(local.chat_nesting) == 0
      error_message = "chat_key_prefix and former_chat_prefixes have to differ, and none may lie within another: ${join(", ", [for prefix in local.chat_nesting : "\"${prefix}\""])}."
    }

    precondition {
      condition     = anytrue([for prefix in var.lifecycle_prefixes : startswith(var.key_prefix, prefix)]) || local.share_of_names == 1
      error_message = "key_prefix has to begin with one of lifecycle_prefixes, or these have to be for all names behind it (0 to f), or new uploads never expire."
    }

    precondition {
      condition     = var.expires_user_folders || length(local.prefixes_with_users) == 0
      error_message = "lifecycle_prefixes meet users' folders (${join(", ", [for prefix in local.prefixes_with_users : "\"${prefix}\""])}): what users store would be deleted. Give prefixes beside them, such as assets/, or expires_user_folders = true."
    }
  }

  depends_on = [aws_s3_bucket_versioning.assets]
}
