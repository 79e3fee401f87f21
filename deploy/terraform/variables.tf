variable "bucket" {
  description = "The bucket; it is made."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$", var.bucket))
    error_message = "3 to 63 of a-z 0-9 -; no dots, with which virtual-hosted addresses have no certificate."
  }
}

variable "settings" {
  description = "The rest of the worker's settings file in its own form; `tokens` at least. See the page Settings of the manual."
  type        = any

  validation {
    condition     = can(length(var.settings.tokens.issuers) > 0)
    error_message = "Whose tokens are trusted? Give settings = { tokens = { issuers = [{ issuer = …, audiences = […], … }] } }."
  }
}

variable "name" {
  description = "What the names of roles and policies begin with."
  type        = string
  default     = "cloakroom"

  validation {
    condition     = can(regex("^[A-Za-z0-9-]{1,40}$", var.name))
    error_message = "1 to 40 letters, digits and hyphens."
  }
}

# The bucket

variable "retention_days" {
  description = "After how many days without a renewal objects under lifecycle_prefixes are deleted (renewal.retentionDays); null: never."
  type        = number
  default     = 30

  validation {
    condition     = var.retention_days == null ? true : var.retention_days >= 1 && floor(var.retention_days) == var.retention_days
    error_message = "A positive whole number, or null."
  }
}

variable "lifecycle_prefixes" {
  description = "What expires, by the beginnings of keys, one rule each, such as [\"assets/\"]; an empty one is every object."
  type        = list(string)

  validation {
    condition     = length(var.lifecycle_prefixes) > 0 && alltrue([for prefix in var.lifecycle_prefixes : can(regex("^([A-Za-z0-9_.-]+/)*[A-Za-z0-9_.-]*$", prefix))])
    error_message = "At least one, each empty or the beginning of a key, of letters, digits and ._-, with / between levels."
  }
}

variable "expires_user_folders" {
  description = "Whether a lifecycle prefix may meet users' folders: what users store there expires as well."
  type        = bool
  default     = false
}

variable "versioning" {
  description = "never; enabled: what is overwritten, by each renewal, or deleted is kept for noncurrent_days; suspended: no longer."
  type        = string
  default     = "never"

  validation {
    condition     = contains(["never", "enabled", "suspended"], var.versioning)
    error_message = "One of never, enabled, suspended. What was enabled once can only be suspended."
  }
}

variable "noncurrent_days" {
  description = "Unless versioning is never: how many days what was overwritten or deleted under lifecycle_prefixes is kept."
  type        = number
  default     = 7
}

variable "kms_key_arn" {
  description = "A KMS key of this account whose policy leaves the rest to IAM; null: keys of S3's own (SSE-S3)."
  type        = string
  default     = null
}

variable "upload_lifetime_seconds" {
  description = "How long an upload URL works, in the settings; the bucket refuses presigned uploads that are older."
  type        = number
  default     = 900

  validation {
    condition     = var.upload_lifetime_seconds >= 1 && var.upload_lifetime_seconds <= 900
    error_message = "1 to 900."
  }
}

variable "cors_origins" {
  description = "Origins whose web pages may call the service and the bucket (web.origins), such as https://app.example; none: apps need no CORS."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for origin in var.cors_origins : can(regex("^(https://[a-z0-9.-]+|http://(localhost|127\\.0\\.0\\.1|\\[::1\\]))(:[0-9]+)?$", origin))])
    error_message = "Exact origins as browsers send them, without a slash at the end; http for localhost, 127.0.0.1 and [::1] alone."
  }
}

# Images of chats

variable "chat_key_prefix" {
  description = "What the keys of images of chats begin with (uploads.chatKeyPrefix), such as chats/; empty: they are uploaded as all others, and cannot be released."
  type        = string
  default     = ""

  validation {
    condition     = can(regex("^([A-Za-z0-9][A-Za-z0-9._-]*/)*$", var.chat_key_prefix))
    error_message = "Empty, or folders of letters, digits and ._- that end in a slash."
  }
}

variable "former_chat_prefixes" {
  description = "Earlier values of chat_key_prefix: their rules, policies and places in the distribution stay until the images there have ended."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for prefix in var.former_chat_prefixes : can(regex("^([A-Za-z0-9][A-Za-z0-9._-]*/)+$", prefix))])
    error_message = "Folders of letters, digits and ._- that end in a slash."
  }
}

variable "chat_retention_days" {
  description = "After how many days images of chats are deleted that no app releases (uploads.chatRetentionDays)."
  type        = number
  default     = 30

  validation {
    condition     = var.chat_retention_days >= 1 && floor(var.chat_retention_days) == var.chat_retention_days
    error_message = "A positive whole number."
  }
}

variable "release_mode" {
  description = "How images of chats are released (release.mode): delete, or tag; for the tag the bucket has a rule of one day in both."
  type        = string
  default     = "delete"

  validation {
    condition     = contains(["delete", "tag"], var.release_mode)
    error_message = "One of delete, tag."
  }
}

# Keys

variable "key_prefix" {
  description = "What the keys of new uploads begin with (uploads.keyPrefix), such as assets/; empty: nothing."
  type        = string

  validation {
    condition     = can(regex("^([A-Za-z0-9][A-Za-z0-9._-]*/)*$", var.key_prefix))
    error_message = "Empty, or folders of letters, digits and ._- that end in a slash."
  }
}

variable "renewal_key_prefix" {
  description = "What stands before the keys of renewals (renewal.keyPrefix): as key_prefix in a new deployment; as it was in an older one, such as empty for assets in the bucket itself."
  type        = string

  validation {
    condition     = can(regex("^([A-Za-z0-9][A-Za-z0-9._-]*/)*$", var.renewal_key_prefix))
    error_message = "Empty, or folders of letters, digits and ._- that end in a slash."
  }
}

variable "former_prefixes" {
  description = "Where older assets are besides (renewal.formerPrefixes)."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for prefix in var.former_prefixes : can(regex("^([A-Za-z0-9][A-Za-z0-9._-]*/)*$", prefix))])
    error_message = "Each empty, or folders of letters, digits and ._- that end in a slash."
  }
}

variable "folders" {
  description = "Where each user has a folder (vending.prefixes of the settings); the worker itself is kept out of them. Tiered photo storage needs catalogs."
  type        = list(string)
  default     = ["photos", "thumbnails", "metadata", "catalogs"]

  validation {
    condition     = length(var.folders) > 0 && alltrue([for folder in var.folders : can(regex("^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$", folder))])
    error_message = "At least one, of letters, digits and _.-, without a slash at either end."
  }
}

variable "renews_users_folders" {
  description = "Whether users renew what lies in their own folders (renewal.requireOwnPrefix); the worker is then let into them."
  type        = bool
  default     = false
}

# The worker

variable "worker" {
  description = "Where the worker runs: ec2, ecs, irsa (EKS), or existing: a role or IAM user that is there already."
  type        = string
  default     = "ec2"

  validation {
    condition     = contains(["ec2", "ecs", "irsa", "existing"], var.worker)
    error_message = "One of ec2, ecs, irsa, existing."
  }
}

variable "oidc_provider_arn" {
  description = "For irsa: the cluster's OIDC provider, arn:…:oidc-provider/oidc.eks.…"
  type        = string
  default     = null

  validation {
    condition     = var.oidc_provider_arn == null ? true : can(regex(":oidc-provider/.+", var.oidc_provider_arn))
    error_message = "An ARN with :oidc-provider/ in it."
  }
}

variable "service_account" {
  description = "For irsa: namespace:name of the worker's service account."
  type        = string
  default     = "cloakroom:cloakroom"

  validation {
    condition     = can(regex("^[a-z0-9.-]+:[a-z0-9.-]+$", var.service_account))
    error_message = "namespace:name."
  }
}

variable "worker_arn" {
  description = "For existing: the ARN of the worker's role or IAM user."
  type        = string
  default     = null
}

variable "worker_role_name" {
  description = "For existing: the role that gets the worker's policies; null: attach the output's yourself."
  type        = string
  default     = null
}

variable "sharing" {
  description = "Whether users can be let read folders of others (vending.sharing); the session role is let do so, by tags."
  type        = bool
  default     = false
}

variable "doctor" {
  description = "Whether the worker's role may do what `cloakroom doctor` does besides, which runs where a worker runs."
  type        = bool
  default     = true
}

# Sessions of users

variable "maximum_session_seconds" {
  description = "At least the longest lifetimeSeconds of the settings. With a role as the worker STS allows 3600 at most."
  type        = number
  default     = 3600

  validation {
    condition     = var.maximum_session_seconds >= 3600 && var.maximum_session_seconds <= 43200
    error_message = "IAM takes 3600 to 43200."
  }
}

variable "revoked_user_ids" {
  description = "Users whose credentials stop working now, whenever they were issued."
  type        = set(string)
  default     = []

  validation {
    condition     = alltrue([for id in var.revoked_user_ids : can(regex("^[A-Za-z0-9_-]{1,64}$", id))])
    error_message = "User ids are 1 to 64 letters, digits, _ and -."
  }
}

variable "revoke_sessions_before" {
  description = "Credentials of all users issued before this time stop working, such as 2026-11-22T12:00:00Z; null for none."
  type        = string
  default     = null

  validation {
    condition     = var.revoke_sessions_before == null ? true : can(regex("^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$", var.revoke_sessions_before))
    error_message = "A time in UTC such as 2026-11-22T12:00:00Z."
  }
}

# Reading assets

variable "cdn" {
  description = "Whether a CloudFront distribution serves the assets; the bucket serves no request without credentials."
  type        = bool
  default     = false
}

variable "cdn_aliases" {
  description = "Host names of the distribution besides its own; needs cdn_certificate_arn."
  type        = list(string)
  default     = []
}

variable "cdn_certificate_arn" {
  description = "A certificate of ACM in us-east-1 for the aliases."
  type        = string
  default     = null
}

variable "asset_base_url" {
  description = "Where assets are read from if not from the distribution; null: the distribution, else the bucket's address."
  type        = string
  default     = null
}

# Watching

variable "alarm_topic_arns" {
  description = "SNS topics that hear of alarms; none: no alarms, and no request metrics, which cost money."
  type        = list(string)
  default     = []
}

variable "alarm_4xx_ratio" {
  description = "The share of responses with 4xx that raises the alarm. It includes 404 (missing) and 412 (still fresh)."
  type        = number
  default     = 0.5
}

# Trying it

variable "test_bucket" {
  description = "A bucket where everything is deleted after a day, for `cloakroom lifecycle validate`; null: none."
  type        = string
  default     = null
}
