# Region and credentials come from where Terraform finds them: AWS_REGION, a profile, a role.

terraform {
  required_version = ">= 1.7"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0"
    }
  }
}

data "aws_partition" "current" {}
data "aws_region" "current" {}
