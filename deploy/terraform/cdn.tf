# What clients read assets from: the bucket serves no request without credentials.

resource "aws_cloudfront_origin_access_control" "assets" {
  count                             = var.cdn ? 1 : 0
  name                              = var.bucket
  description                       = "Signs the distribution's requests to ${var.bucket}"
  origin_access_control_origin_type = "s3"
  signing_behavior                  = "always"
  signing_protocol                  = "sigv4"
}

resource "aws_cloudfront_distribution" "assets" {
  # checkov:skip=CKV2_AWS_32: AWS's own policy is attached, by its id; checkov looks for one of this module's
  # checkov:skip=CKV2_AWS_47: nothing behind it runs code; it hands out files of a bucket
  count           = var.cdn ? 1 : 0
  enabled         = true
  comment         = "Assets of ${var.bucket}"
  aliases         = var.cdn_aliases
  is_ipv6_enabled = true
  http_version    = "http2and3"

  origin {
    origin_id                = "bucket"
    domain_name              = aws_s3_bucket.assets.bucket_regional_domain_name
    origin_access_control_id = aws_cloudfront_origin_access_control.assets[0].id
  }

  default_cache_behavior {
    target_origin_id       = "bucket"
    viewer_protocol_policy = "redirect-to-https"
    allowed_methods        = ["GET", "HEAD"]
    cached_methods         = ["GET", "HEAD"]
    # AWS's own policy "CachingOptimized": no query, no header, no cookie reaches the bucket; a day unless told otherwise.
    cache_policy_id = "658327ea-f89d-4fab-a63d-7e88639e58f6"
    # AWS's own policy "SecurityHeadersPolicy": no browser guesses a type, or frames what users uploaded.
    response_headers_policy_id = "67f7725c-6f97-4210-82d7-5512b31e9d03"
  }

  # Images of chats: a copy in a cache would outlive its release.
  dynamic "ordered_cache_behavior" {
    for_each = local.chat_prefixes
    content {
      path_pattern           = "/${ordered_cache_behavior.value}*"
      target_origin_id       = "bucket"
      viewer_protocol_policy = "redirect-to-https"
      allowed_methods        = ["GET", "HEAD"]
      cached_methods         = ["GET", "HEAD"]
      # AWS's own policy "CachingDisabled".
      cache_policy_id            = "4135ea2d-6df8-44a3-9df3-4b5a84be39ad"
      response_headers_policy_id = "67f7725c-6f97-4210-82d7-5512b31e9d03"
    }
  }

  restrictions {
    geo_restriction {
      restriction_type = "none"
    }
  }

  viewer_certificate {
    cloudfront_default_certificate = var.cdn_certificate_arn == null
    acm_certificate_arn            = var.cdn_certificate_arn
    ssl_support_method             = var.cdn_certificate_arn == null ? null : "sni-only"
    minimum_protocol_version       = var.cdn_certificate_arn == null ? null : "TLSv1.2_2021"
  }

  lifecycle {
    precondition {
      condition     = (length(var.cdn_aliases) == 0) == (var.cdn_certificate_arn == null)
      error_message = "cdn_aliases and cdn_certificate_arn go together."
    }
  }
}

locals {
  cdn_policies = {
    for name in ["bucket-policy-cdn.json", "bucket-policy-cdn-chats.json"] : name => replace(
      local.policies[name], "DISTRIBUTION_ARN", var.cdn ? aws_cloudfront_distribution.assets[0].arn : "none",
    )
  }
  cdn_url = var.cdn ? "https://${concat(var.cdn_aliases, [aws_cloudfront_distribution.assets[0].domain_name])[0]}" : null
}
