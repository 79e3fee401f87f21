variable "bucket" {
  description = "The bucket, as in the settings."
  type        = string
}

variable "worker_arn" {
  description = "Who assumes the session role: the worker's own role or IAM user."
  type        = string
}

variable "worker_role_name" {
  description = "The worker's role, to which its policy is attached; null where the worker is an IAM user."
  type        = string
  default     = null
}

variable "session_role_name" {
  description = "The role that users' sessions assume; its ARN is vending.roleARN."
  type        = string
  default     = "cloakroom-app"
}

variable "maximum_session_seconds" {
  description = "At least the longest lifetimeSeconds of the settings."
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
}

variable "revoke_sessions_before" {
  description = "Credentials of all users issued before this time stop working, such as 2026-11-22T12:00:00Z; null for none."
  type        = string
  default     = null
}
