resource "aws_s3_bucket" "assets" {
  # checkov:skip=CKV_AWS_21: what is deleted is to be gone; var.versioning turns versions on
  # checkov:skip=CKV_AWS_18: a log of each object's key needs a bucket and a retention of its own, which are the account's to choose
  # checkov:skip=CKV_AWS_144: what expires here is to be nowhere else
  # checkov:skip=CKV2_AWS_62: nothing waits for its events
  bucket = var.bucket
}

# Nothing is public, whatever a policy or an ACL says some day.
resource "aws_s3_bucket_public_access_block" "assets" {
  bucket                  = aws_s3_bucket.assets.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

# ACLs are off: who owns the bucket owns what is in it.
resource "aws_s3_bucket_ownership_controls" "assets" {
  bucket = aws_s3_bucket.assets.id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

# The bucket key spares most of the calls to KMS, and their price.
resource "aws_s3_bucket_server_side_encryption_configuration" "assets" {
  bucket = aws_s3_bucket.assets.id

  rule {
    bucket_key_enabled = var.kms_key_arn != null

    apply_server_side_encryption_by_default {
      sse_algorithm     = var.kms_key_arn == null ? "AES256" : "aws:kms"
      kms_master_key_id = var.kms_key_arn
    }
  }
}

resource "aws_s3_bucket_versioning" "assets" {
  count  = var.versioning == "never" ? 0 : 1
  bucket = aws_s3_bucket.assets.id

  versioning_configuration {
    status = title(var.versioning)
  }
}

resource "aws_s3_bucket_policy" "assets" {
  bucket = aws_s3_bucket.assets.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      jsondecode(local.policies["bucket-policy.json"]).Statement,
      [for statement in jsondecode(local.cdn_policies["bucket-policy-cdn.json"]).Statement : statement if var.cdn],
      [for statement in jsondecode(local.cdn_policies["bucket-policy-cdn-chats.json"]).Statement : statement if var.cdn && local.keeps_chats],
    )
  })

  # Otherwise both write what S3 checks against the other at once, and it refuses one of them.
  depends_on = [aws_s3_bucket_public_access_block.assets]
}

# The rule that `cloakroom cors apply` would put.
resource "aws_s3_bucket_cors_configuration" "assets" {
  count  = length(var.cors_origins) == 0 ? 0 : 1
  bucket = aws_s3_bucket.assets.id

  cors_rule {
    id              = "cloakroom-browsers"
    allowed_origins = var.cors_origins
    allowed_methods = ["GET", "HEAD", "PUT", "POST", "DELETE"]
    allowed_headers = ["*"]
    expose_headers  = ["ETag", "Location", "x-amz-version-id", "x-amz-checksum-sha256", "x-amz-expiration", "Content-Range", "Accept-Ranges"]
    max_age_seconds = 3600
  }
}
