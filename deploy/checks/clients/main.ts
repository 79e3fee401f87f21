// Runs the manual's TypeScript client against a stack: URL and STUB are endpoints, TOKEN and OTHER a user's token each.
import { Cloakroom, CloakroomError } from "./client"

declare const process: { env: Record<string, string>; exit(code: number): never }

function expect(holds: boolean, what: string) {
  if (!holds) {
    console.log(`not so: ${what}`)
    process.exit(1)
  }
}

async function main() {
  const fetched = globalThis.fetch
  let count = 0
  globalThis.fetch = (...request) => {
    count += 1
    return fetched(...request)
  }
  const asked: boolean[] = []
  const token = async (refused: boolean) => {
    asked.push(refused)
    return asked.includes(true) ? process.env.TOKEN : "stale"
  }
  const cloakroom = new Cloakroom(process.env.URL, token)
  const [first, joined] = await Promise.all([cloakroom.credentials(), cloakroom.credentials()])
  expect(asked.join() === "false,false,true", "a token that is refused has a second")
  expect(first === joined && count === 2, "two calls at once are one request, with a second token")
  expect(first.prefixes.photos.endsWith("/"), "folders end in /")
  expect((await cloakroom.credentials()) === first && count === 2, "credentials are kept")
  expect((await cloakroom.credentials({ scope: "read", lifetimeSeconds: 900 })) !== first, "narrower ones are others")

  const upload = await cloakroom.upload(crypto.getRandomValues(new Uint8Array(20_000)), "image/jpeg")
  const results = await cloakroom.renew([upload.objectKey, ...Array(100).fill("assets/gone.bin")])
  expect(results.length === 101 && results[0].success && results[0].key === upload.objectKey, "the upload is there")
  expect(results.slice(1).every(result => result.error === "not_found"), "others are not")

  const error = await cloakroom.credentials({ scope: "everything" }).catch(error => error)
  expect(error instanceof CloakroomError && error.status === 403 && error.code === "forbidden", "a scope that is not there")
  expect(error.requestId.length === 32, "errors name the request")
  const stub = new Cloakroom(process.env.STUB, token)
  expect(JSON.stringify(await stub.renew(["a"])) === '[{"key":"a","success":true}]', "a 503 is retried")
  const cut = new Cloakroom(`${process.env.STUB}/cut`, token)
  expect(JSON.stringify(await cut.renew(["a"])) === '[{"key":"a","success":true}]', "a response that breaks off is retried")

  // A timeout of 30 s is 0.3 s.
  const real = setTimeout
  globalThis.setTimeout = ((work: (...values: unknown[]) => void, milliseconds: number, ...values: unknown[]) =>
    real(work, milliseconds === 30_000 ? 300 : milliseconds, ...values)) as typeof setTimeout
  expect((await stub.upload(new Uint8Array(20_000_000), "video/mp4")).objectKey === "a", "an upload may take long")
  globalThis.setTimeout = real

  // The clock of a device, an hour ahead.
  const now = Date.now
  Date.now = () => now() + 3_600_000
  const device = new Cloakroom(process.env.URL, token)
  await device.credentials()
  const before = count
  await device.credentials()
  expect(count === before, "credentials are kept whatever the device's clock")
  Date.now = now

  let user = process.env.TOKEN
  const app = new Cloakroom(process.env.URL, async () => user)
  expect((await app.credentials()) === (await app.credentials()), "credentials are kept")
  const joining = app.credentials({ scope: "read" })
  user = process.env.OTHER
  const other = await app.credentials()
  expect(other.userId !== first.userId && other.prefixes.photos !== first.prefixes.photos, "not a former user's")
  const narrow = await app.credentials({ scope: "read" })
  expect((await joining).userId === first.userId && narrow.userId === other.userId, "nor those requested for it")
  const leaving = new Cloakroom(process.env.URL, async refused => (refused ? "stale" : user))
  user = "stale"
  const failed = leaving.credentials().catch(error => error)
  for (const begun = count; count === begun; ) await Promise.resolve()
  user = process.env.OTHER
  expect((await leaving.credentials()).userId === other.userId, "nor a former user's failure")
  expect((await failed).status === 401, "which is that user's own")
  console.log("fine")
}

main()
