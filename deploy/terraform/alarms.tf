# What CloudWatch sees of the bucket. What only the worker sees (STS throttling, denied requests apart from missing
# objects, the canaries) is in its own metrics: ../alerts.

locals {
  alarms = {
    "5xx" = { metric = "5xxErrors", threshold = 0.05, what = "S3 fails or throttles: its responses are 5xx." }
    "4xx" = { metric = "4xxErrors", threshold = var.alarm_4xx_ratio, what = "S3 refuses unusually much: 403 is among the 4xx, which CloudWatch does not tell apart." }
  }
}

resource "aws_s3_bucket_metric" "assets" {
  count  = length(var.alarm_topic_arns) == 0 ? 0 : 1
  bucket = aws_s3_bucket.assets.id
  name   = "EntireBucket"
}

resource "aws_cloudwatch_metric_alarm" "requests" {
  for_each = { for name, alarm in local.alarms : name => alarm if length(var.alarm_topic_arns) > 0 }

  alarm_name        = "${var.name}-${var.bucket}-${each.key}"
  alarm_description = each.value.what
  namespace         = "AWS/S3"
  metric_name       = each.value.metric
  # Of these metrics the average is the share of requests.
  statistic           = "Average"
  comparison_operator = "GreaterThanThreshold"
  threshold           = each.value.threshold
  period              = 300
  evaluation_periods  = 3
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_topic_arns
  ok_actions          = var.alarm_topic_arns

  dimensions = {
    BucketName = aws_s3_bucket.assets.id
    FilterId   = aws_s3_bucket_metric.assets[0].name
  }
}
