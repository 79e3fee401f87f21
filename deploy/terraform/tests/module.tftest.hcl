# The module against a provider that makes nothing: `terraform test`. The checks of this repository compare what comes
# out of each run with the CloudFormation template, so the runs have the names of their counterparts there.

mock_provider "aws" {
  mock_data "aws_partition" {
    defaults = { partition = "aws", dns_suffix = "amazonaws.com" }
  }

  mock_data "aws_region" {
    defaults = { id = "eu-central-1", name = "eu-central-1" }
  }

  mock_resource "aws_iam_policy" {
    defaults = { arn = "arn:aws:iam::123456789012:policy/operator" }
  }

  override_resource {
    target = aws_iam_role.worker
    values = { arn = "arn:aws:iam::123456789012:role/cloakroom-worker", id = "cloakroom-worker" }
  }

  override_resource {
    target = aws_iam_role.session
    values = { arn = "arn:aws:iam::123456789012:role/cloakroom-app", id = "cloakroom-app" }
  }

  override_resource {
    target = aws_s3_bucket.assets
    values = { id = "my-assets", bucket_regional_domain_name = "my-assets.s3.eu-central-1.amazonaws.com" }
  }

  override_resource {
    target = aws_s3_bucket.test
    values = { id = "my-assets-test" }
  }

  override_resource {
    target = aws_cloudfront_origin_access_control.assets
    values = { id = "E2" }
  }

  override_resource {
    target = aws_cloudfront_distribution.assets
    values = { arn = "arn:aws:cloudfront::123456789012:distribution/E1", domain_name = "d1.cloudfront.net" }
  }
}

variables {
  bucket             = "my-assets"
  key_prefix         = "assets/"
  renewal_key_prefix = ""
  lifecycle_prefixes = ["assets/"]

  settings = {
    tokens = {
      issuers = [{ issuer = "https://auth.example", audiences = ["app"], secret = { file = "secrets/token" } }]
    }
  }
}

# A new deployment; the other runs have older assets in the bucket itself.
run "plain" {
  variables {
    renewal_key_prefix = "assets/"
  }

  assert {
    condition     = aws_iam_role.session.force_detach_policies
    error_message = "A role with the policy of a revocation could not be deleted."
  }

  assert {
    condition     = jsondecode(output.settings).vending.roleARN == "arn:aws:iam::123456789012:role/cloakroom-app"
    error_message = "The settings name another role than the one that was made."
  }

  assert {
    condition     = output.secrets_to_set == tolist(["\"file\":\"secrets/token\"", "\"file\":\"secrets/uploads\""])
    error_message = "The settings name the secret of the issuer, and that of multipart uploads."
  }

  assert {
    condition     = !strcontains(jsonencode(output.worker_policies), "arn:aws:s3:::my-assets/*")
    error_message = "The worker needs no more of the bucket than assets/."
  }
}

run "everything" {
  variables {
    versioning             = "enabled"
    kms_key_arn            = "arn:aws:kms:eu-central-1:123456789012:key/1234"
    cors_origins           = ["https://app.example"]
    key_prefix             = "new/"
    renewal_key_prefix     = "new/"
    worker                 = "ecs"
    sharing                = true
    doctor                 = false
    lifecycle_prefixes     = [""]
    expires_user_folders   = true
    cdn                    = true
    cdn_aliases            = ["cdn.example"]
    cdn_certificate_arn    = "arn:aws:acm:us-east-1:123456789012:certificate/1"
    alarm_topic_arns       = ["arn:aws:sns:eu-central-1:123456789012:alarms"]
    test_bucket            = "my-assets-test"
    revoked_user_ids       = ["u_1", "u_2"]
    revoke_sessions_before = "2026-11-22T12:00:00Z"
  }

  assert {
    condition     = jsondecode(output.settings).uploads.assetBaseURL == "https://cdn.example"
    error_message = "Assets are read through the distribution."
  }
}

run "versions" {
  variables {
    versioning = "enabled"
  }
}

run "irsa" {
  variables {
    worker            = "irsa"
    oidc_provider_arn = "arn:aws:iam::123456789012:oidc-provider/oidc.eks.eu-central-1.amazonaws.com/id/1"
    service_account   = "production:cloakroom"

    renews_users_folders = true
  }
}

run "chats" {
  variables {
    versioning      = "enabled"
    cdn             = true
    chat_key_prefix = "chats/"
  }

  assert {
    condition     = jsondecode(output.settings).release == { keys = [{ file = "secrets/release" }], mode = "delete" }
    error_message = "Images of chats are deleted when they are released, by tokens under the key in a file."
  }
}

run "tags_chats" {
  variables {
    chat_key_prefix     = "chats/"
    chat_retention_days = 8
    release_mode        = "tag"
  }
}

run "moves_chats" {
  variables {
    versioning           = "enabled"
    cdn                  = true
    chat_key_prefix      = "images/"
    former_chat_prefixes = ["chats/"]
  }
}

run "ends_chats" {
  variables {
    cdn                  = true
    former_chat_prefixes = ["chats/"]
    release_mode         = "tag"
  }
}

run "refuses_former_chats_among_assets" {
  command = plan

  variables {
    former_chat_prefixes = ["assets/chats/"]
  }

  expect_failures = [aws_s3_bucket_lifecycle_configuration.assets]
}

run "refuses_former_chats_that_are_the_present_ones" {
  command = plan

  variables {
    chat_key_prefix      = "chats/"
    former_chat_prefixes = ["chats/"]
  }

  expect_failures = [aws_s3_bucket_lifecycle_configuration.assets]
}

run "refuses_chats_within_former_chats" {
  command = plan

  variables {
    chat_key_prefix      = "chats/new/"
    former_chat_prefixes = ["chats/"]
  }

  expect_failures = [aws_s3_bucket_lifecycle_configuration.assets]
}

run "refuses_chats_among_assets" {
  command = plan

  variables {
    chat_key_prefix = "assets/chats/"
  }

  expect_failures = [aws_s3_bucket_lifecycle_configuration.assets]
}

run "expires_photos" {
  variables {
    versioning           = "enabled"
    key_prefix           = "photos/"
    lifecycle_prefixes   = ["photos/"]
    expires_user_folders = true
  }
}

run "takes_prefixes_for_all_names" {
  variables {
    key_prefix         = ""
    lifecycle_prefixes = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "ca0", "ca1", "ca2", "ca3", "ca4", "ca5", "ca6", "ca7", "ca8", "ca9", "caa", "cab", "cac", "cad", "cae", "caf", "cb", "cc", "cd", "ce", "cf", "d", "e", "f"]
  }

  # Where no prefix is a folder, canaries and the doctor's objects are in the bucket itself, with rules of their own.
  assert {
    condition = slice(aws_s3_bucket_lifecycle_configuration.assets.rule[*].id, 46, 49) == tolist([
      "clean-up", "expire-after-30-days-cloakroom-canary/", "expire-after-30-days-cloakroom-doctor/",
    ])
    error_message = "Canaries would never expire."
  }
}

run "keeps_everything" {
  variables {
    retention_days = null
    worker         = "existing"
    worker_arn     = "arn:aws:iam::123456789012:user/worker"
    settings = {
      tokens  = { issuers = [{ preset = "apple", clientIDs = ["com.example.photos"] }] }
      uploads = { idKeys = [{ file = "/run/secrets/uploads" }] }
      session = { issuer = "https://photos.example", keys = [{ keyID = "1", secret = { file = "secrets/session" } }] }
      vending = { defaultTier = "basic" }
    }
  }

  assert {
    condition     = jsondecode(output.settings).vending.defaultTier == "basic"
    error_message = "What the variable says stays."
  }

  assert {
    condition     = jsondecode(output.settings).uploads.idKeys[0].file == "/run/secrets/uploads"
    error_message = "Keys that the variable says stay, too."
  }

  assert {
    condition     = can(jsondecode(output.settings).renewal.retentionDays) && try(jsondecode(output.settings).renewal.retentionDays, 30) == null
    error_message = "Nothing is deleted, and the settings have to say so: without retentionDays the worker takes 30."
  }
}

run "needs_a_worker" {
  command = plan

  variables {
    worker = "existing"
  }

  expect_failures = [aws_iam_role.session]
}

run "refuses_a_rule_for_users_folders" {
  command = plan

  variables {
    key_prefix         = ""
    lifecycle_prefixes = [""]
  }

  expect_failures = [aws_s3_bucket_lifecycle_configuration.assets]
}

run "refuses_a_rule_within_users_folders" {
  command = plan

  variables {
    lifecycle_prefixes = ["assets/", "photos/u_1/"]
  }

  expect_failures = [aws_s3_bucket_lifecycle_configuration.assets]
}

run "refuses_uploads_that_never_expire" {
  command = plan

  variables {
    lifecycle_prefixes = ["ca0"]
  }

  expect_failures = [aws_s3_bucket_lifecycle_configuration.assets]
}

run "refuses_prefixes_for_some_names" {
  command = plan

  variables {
    key_prefix         = ""
    lifecycle_prefixes = ["0", "00", "01", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c", "d", "e", "assets/"]
  }

  expect_failures = [aws_s3_bucket_lifecycle_configuration.assets]
}

run "refuses_a_bucket_with_dots" {
  command = plan

  variables {
    bucket = "my.assets"
  }

  expect_failures = [var.bucket]
}

run "refuses_settings_without_tokens" {
  command = plan

  variables {
    settings = {}
  }

  expect_failures = [var.settings]
}
