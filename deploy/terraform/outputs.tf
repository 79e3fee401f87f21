output "settings" {
  description = "The worker's settings file: terraform output -raw settings > cloakroom.json5"
  value       = jsonencode(local.settings)
}

output "secrets_to_set" {
  description = "The environment variables and files that the settings name; nothing secret is in the settings themselves."
  value       = distinct(regexall("\"(?:env|file)\":\"[^\"]*\"", jsonencode(local.settings)))
}

output "worker_role_arn" {
  description = "For the task definition or the service account."
  value       = local.worker_arn
}

output "worker_instance_profile" {
  description = "For the instances, with worker = \"ec2\"."
  value       = one(aws_iam_instance_profile.worker[*].name)
}

output "worker_policies" {
  description = "For an IAM user as the worker; a role has them attached already."
  value = merge(
    { worker = local.worker_policy },
    { for name in ["kms"] : name => local.policies["kms-policy.json"] if var.kms_key_arn != null },
    { for name in ["release"] : name => local.release_policy if local.keeps_chats },
    { for name in ["doctor"] : name => local.policies["doctor-policy.json"] if var.doctor },
  )
}

output "operator_policy_arns" {
  description = "By command: for operators who run `cloakroom lifecycle`, `cors`, `doctor` and `user revoke --apply`."
  value       = { for name, policy in aws_iam_policy.operator : name => policy.arn }
}

output "session_role_arn" {
  description = "The role of users' sessions; in the settings as vending.roleARN."
  value       = aws_iam_role.session.arn
}

output "asset_base_url" {
  description = "Where assets are read from; null: the bucket's own address, with credentials."
  value       = local.asset_base_url
}
