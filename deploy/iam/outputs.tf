output "session_role_arn" {
  description = "For vending.roleARN."
  value       = aws_iam_role.session.arn
}

output "worker_policy" {
  description = "For an IAM user as the worker; a role has it attached already."
  value       = local.worker_policy
}
