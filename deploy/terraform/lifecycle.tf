# The rules that `cloakroom lifecycle apply` would put: whatever nobody renews is deleted.
resource "aws_s3_bucket_lifecycle_configuration" "assets" {
  bucket = aws_s3_bucket.assets.id

  rule {
    id     = var.retention_days == null ? "clean-up" : "expire-after-${var.retention_days}-days"
    status = "Enabled"

    # Empty: for every object. Said all the same, or the provider would leave an earlier one.
    filter {
      prefix = var.lifecycle_prefix
    }

    dynamic "expiration" {
      for_each = var.retention_days == null ? [] : [var.retention_days]
      content {
        days = expiration.value
      }
    }

    dynamic "noncurrent_version_expiration" {
      for_each = var.versioning == "never" ? [] : [var.noncurrent_days]
      content {
        noncurrent_days = noncurrent_version_expiration.value
      }
    }

    abort_incomplete_multipart_upload {
      days_after_initiation = 7
    }
  }

  # What was deleted in a bucket with versions leaves a marker; S3 takes this beside no number of days.
  dynamic "rule" {
    for_each = var.versioning == "never" ? [] : ["remove-expired-delete-markers"]
    content {
      id     = rule.value
      status = "Enabled"

      filter {
        prefix = var.lifecycle_prefix
      }

      expiration {
        expired_object_delete_marker = true
      }
    }
  }

  lifecycle {
    precondition {
      condition     = startswith(var.key_prefix, var.lifecycle_prefix)
      error_message = "key_prefix has to begin with lifecycle_prefix, or the rule is for nothing that is renewed."
    }
  }

  depends_on = [aws_s3_bucket_versioning.assets]
}
