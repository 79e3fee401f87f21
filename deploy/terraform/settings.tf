# The worker's settings file: what was made here, laid over what the variable says.

locals {
  asset_base_url = var.asset_base_url != null ? var.asset_base_url : local.cdn_url

  made = {
    vending = merge(
      { roleARN = aws_iam_role.session.arn, prefixes = var.folders },
      { for key in compact([var.kms_key_arn]) : "kmsKeyARNs" => [key] },
      { for sharing in var.sharing ? [true] : [] : "sharing" => sharing },
    )
    uploads = merge(
      { keyPrefix = var.key_prefix, lifetimeSeconds = var.upload_lifetime_seconds },
      # Without keys there are no multipart uploads; the file is the one of `cloakroom init`.
      { idKeys = try(var.settings.uploads.idKeys, [{ file = "secrets/uploads" }]) },
      { for url in compact([local.asset_base_url]) : "assetBaseURL" => url },
      { for prefix in compact([var.chat_key_prefix]) : "chatKeyPrefix" => prefix },
      { for days in [var.chat_retention_days] : "chatRetentionDays" => days if local.has_chats },
    )
    renewal = merge(
      # Without retentionDays the worker would take 30; null says never.
      { keyPrefix = var.renewal_key_prefix, requireOwnPrefix = var.renews_users_folders, retentionDays = var.retention_days },
      { for prefixes in length(var.former_prefixes) == 0 ? [] : [var.former_prefixes] : "formerPrefixes" => prefixes },
    )
    lifecycle = {
      prefixes           = var.lifecycle_prefixes
      expiresUserFolders = var.expires_user_folders
      noncurrentDays     = var.noncurrent_days
      abortMultipartDays = 7
    }
  }

  settings = merge(
    var.settings,
    { region = data.aws_region.current.id, bucket = var.bucket },
    { for mode in [var.release_mode] : "release" => merge({ keys = [{ file = "secrets/release" }] }, try(var.settings.release, {}), { mode = mode }) if local.has_chats },
    { for origins in length(var.cors_origins) == 0 ? [] : [var.cors_origins] : "web" => merge(try(var.settings.web, {}), { origins = origins }) },
    { for section, values in local.made : section => merge(try(var.settings[section], {}), values) },
  )
}
