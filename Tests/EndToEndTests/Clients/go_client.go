// What the AWS SDK for Go v2 does with the credentials of users: put, get, list, a refresh, and a foreign prefix, which it is refused.
//
// Usage: go_client web-identity|container S3_URL BUCKET OWN_PREFIX FOREIGN_PREFIX
//
// The environment is the manual's. Prints a line for each thing that went as it should. The refresh is one that is requested, as
// when the credentials are about to end.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

var ctx = context.Background()

func main() {
	log.SetFlags(0)
	way, store, bucket, own, foreign := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	key := own + "a.jpg"
	cfg, err := configuration(way)
	check(err)
	client := s3.NewFromConfig(cfg, s3.WithEndpointResolver(s3.EndpointResolverFromURL(store)), func(o *s3.Options) {
		o.UsePathStyle = true
	})
	put := func(key string) error {
		_, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader("photo")})
		return err
	}

	check(put(key))
	fmt.Println("put")
	object, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	check(err)
	body, err := io.ReadAll(object.Body)
	check(err)
	if string(body) != "photo" {
		log.Fatalf("it reads %q", body)
	}
	fmt.Println("get")
	list, err := client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: &own})
	check(err)
	if len(list.Contents) != 1 || *list.Contents[0].Key != key {
		log.Fatalf("it lists %v", list.Contents)
	}
	fmt.Println("list")
	cfg.Credentials.(*aws.CredentialsCache).Invalidate()
	_, err = client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &bucket, Key: &key})
	check(err)
	fmt.Println("refresh")
	var refused *awshttp.ResponseError
	if err := put(foreign + "a"); !errors.As(err, &refused) || refused.HTTPStatusCode() != 403 {
		log.Fatalf("another's prefix: %v", err)
	}
	fmt.Println("refused")
}

func configuration(way string) (aws.Config, error) {
	if way == "container" {
		url, token := os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI"), os.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN")
		return config.LoadDefaultConfig(ctx, config.WithCredentialsProvider(aws.NewCredentialsCache(endpointcreds.New(url, func(o *endpointcreds.Options) { o.AuthorizationToken = token }))))
	}
	return config.LoadDefaultConfig(ctx, config.WithEndpointResolverWithOptions(aws.EndpointResolverWithOptionsFunc(
		func(service, region string, _ ...interface{}) (aws.Endpoint, error) {
			if service == sts.ServiceID {
				return aws.Endpoint{URL: os.Getenv("AWS_ENDPOINT_URL_STS")}, nil
			}
			return aws.Endpoint{}, &aws.EndpointNotFoundError{}
		})))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
