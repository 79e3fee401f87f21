# For `cloakroom lifecycle validate`: the same as the bucket, but everything is deleted after a day.

resource "aws_s3_bucket" "test" {
  # checkov:skip=CKV_AWS_21: it holds nothing but what a validation made, for a day
  # checkov:skip=CKV_AWS_18: as above
  # checkov:skip=CKV_AWS_144: as above
  # checkov:skip=CKV_AWS_145: as above; S3 encrypts with its own keys
  # checkov:skip=CKV2_AWS_62: nothing waits for its events
  count         = var.test_bucket == null ? 0 : 1
  bucket        = var.test_bucket
  force_destroy = true
}

resource "aws_s3_bucket_public_access_block" "test" {
  count                   = var.test_bucket == null ? 0 : 1
  bucket                  = aws_s3_bucket.test[0].id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_lifecycle_configuration" "test" {
  count  = var.test_bucket == null ? 0 : 1
  bucket = aws_s3_bucket.test[0].id

  rule {
    id     = "expire-after-1-day"
    status = "Enabled"

    filter {
      prefix = ""
    }

    expiration {
      days = 1
    }

    abort_incomplete_multipart_upload {
      days_after_initiation = 1
    }
  }
}
