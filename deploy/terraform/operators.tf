# What commands need that the worker must not have: policies of their own, to be attached to the operators who run them.

resource "aws_iam_policy" "operator" {
  for_each = merge(
    {
      cors      = local.policies["cors-policy.json"]
      lifecycle = local.policies["lifecycle-policy.json"]
      revoker   = local.revoker_policy
    },
    { for name in ["validate"] : name => local.policies["validate-policy.json"] if var.test_bucket != null },
  )

  name   = "${var.name}-${each.key}"
  policy = each.value
}
