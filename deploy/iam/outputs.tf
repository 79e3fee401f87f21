output "session_role_arn" {
  description = "For vending.roleARN."
  value       = aws_iam_role.session.arn
}

output "worker_policy" {
  description = "For an IAM user as the worker; a role has it attached already."
  value       = local.worker_policy
}

output "revoker_policy" {
  description = "For whoever runs `cloakroom user revoke --apply`; never for the worker."
  value       = replace(local.policies["revoker-policy.json"], "SESSION_ROLE_ARN", aws_iam_role.session.arn)
}
