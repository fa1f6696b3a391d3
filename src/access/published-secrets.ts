import { hash } from 'node:crypto';

/**
 * The sources of secrets that are in manuals, tests and products, by the SHA-256 hash of the
 * decoded secret. A new row needs a source, and never contains the secret itself.
 */
const SOURCES: Readonly<Record<string, string>> = {
  fa2097552f30b4adfb36e0b5509ef27b753bc2a472839b3d1ccf81c964e8a0be:
    'TSIG chapter of the BIND 9 Administrator Reference Manual',
  '55db3db45f7b09ae41719168d7519ddd455ddf02f49fccc2391184234dcdadce':
    'rndc.conf(5) of BIND 9 (samplekey)',
  '5618fc38e3982df7a43cdd95b1155ea4a60963d39bc4f31a8c8e9340cafdd4d2':
    'rndc.conf(5) of BIND 9 (testkey)',
  '7d8ef666fb83878fce05d57801fe4d8e3eca16841f78f794e21ebb365e721dc0':
    'rndc example of older BIND 9 manuals',
  '3c0e0375143809851b79fc203c13768d54c6d16663d0ca634d7d13e51c52781a':
    'system tests of BIND 9 (rndc_key)',
  e383a701dc49a9dd2e592d0c2ce0f90c8fd2e2a199cda699cab668d7b8d7cbcc:
    'example host1-host2 of older BIND 9 manuals',
  acb32b732bc798695bbd49703d81af2755b7dfcd9191a491c84f35602cf0c108:
    'example toystory-wormhole.movie.edu, seen in tutorials',
  b9179da5c77f5e2de9d20509ed385359ca6855085bb3e28479c78f0357b36ffc: 'system tests of BIND 9 (tsig)',
  '7c148d11e010600dfdee35b405858d6896df77a5587d14c4c2801f60d0f82b7f':
    'system tests of BIND 9 (tsig)',
  a2d07a34cbb354c3b7787d7d1a0676b7af6c267f39af653f62974769cff1e024: 'README and manual of NSD',
  '773e68e328068c7b6cf84107e311931fca563f01148880938b803ac6c0797cb3': 'nsd.conf.sample of NSD',
  '25245bb941b911e59d7a9a87345bc98056e2de58a8aeb48c19848abdaee39b35': 'nsd.conf(5) of NSD',
  '12f3b7b4efc56b75f7e535515785aa464f37e5e38324d6b5deac15f40cb67234': 'NSD manual, catalog zones',
  '7547aa9941879964fdfc4e962b6d430630bbcc371ca3efc7d2525e80c384b273':
    'Knot DNS documentation, configuration',
  f97e14b48e9047dd80d0f80b6c2a586f67faa0b0def3df1ef776e8d4b8f5900d:
    'Knot DNS documentation, configuration',
  '9a23dd4d285c3a81a809e20c70b34f652b65f9d51945ff3817d8fd989eba28d5':
    'Knot DNS documentation, configuration',
  '68d6f81ab93747fc69790e60c740b620dd00926b49655cdfcda4557a5643b701':
    'Knot DNS documentation, DNSSEC',
  aef8db2dfd1b8495230d1a073b6578d6251dfad0134f18ee727a43122324e60c:
    'documentation of OpenStack Designate, TSIG keys',
  '8d9eadc1f305d46f1f203886aa5df98f1ed62fcbacc23d2f6732d24d928703e8': 'example nsd.conf of OpenBSD',
  a0644f3af10b1b981601eb4efc4a8f9d3607c39ef4eed0250d074caf94b01c65: 'PowerDNS documentation, TSIG',
  '774df69f42405d9929fa233325b6f5aa3245750229625331911516b62ad86846':
    'PowerDNS documentation, dynamic updates',
  '5f9d0781d715d2d186c09e34e8adea6df9dd4744ce00a6c3297f3db8d19ca5e2':
    'PowerDNS documentation, HTTP API',
  '7d9ce6b5fb16f09be489719b12a49abccaf0eb8f1197f541b678b515253d54b3':
    'PowerDNS documentation, HTTP API',
  '6c4f1918f812bd5c578352914aaeec2a5e20cd532590a54e1ebace175eca23ce':
    'documentation of certbot-dns-rfc2136',
  '95b678e9aec4430b87758d6f80083ba9406b75facb193336f4aad02e7e682961':
    'integration tests of certbot',
  '3d2a6d021b39acdc9b9f47eddcaa7b5f89582e1bff5c7033c01a67f68bcfe338':
    'RFC 2136 tutorial of external-dns',
  da50f97416ede5e89698dae52d6e8cf59355136e69d5d12105b3cf47c35f9609: 'rfc2136 example of lego',
  d85c1b1ad3959367c34647ac31ed64f8e74708d378c7f4e3e06d412ce0fefaaa:
    'default key of the BIND plugin of OPNsense',
  b3a4e434827458fc4628d4a2898dc3d643da43ba17ec5f3a7b1ff79b5719754f: 'dhcpd.conf(5) of ISC DHCP',
  c620947e1e30e72b47de67ae48973835bc2de3291ea71ca0a867d675932ab0f3: 'tests and manual of Kea',
  '5e799e5cd842990389db1ae5a6591d27acc0495304fad7dd104fc8e5dd0d7fe5': 'Kea manual, DHCP-DDNS',
  '9565bee846adf5e0c20aeabe7748db92c94c51578fafbcf8db9a42a5f2d4c626':
    'README of the container image ventz/bind',
  d808c8d439d6c0982a55d3a6d67786070b93c6510b15e7937d06b1548be885ab:
    'external-dns package of VMware Tanzu',
  '66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925':
    'placeholder of 32 zero octets',
  '374708fff7719dd5979ec875d56cd2286f6d3cf7ec317a3b25632aab28ec37bb':
    'placeholder of 16 zero octets',
  '2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b': 'placeholder word',
};

/** Returns where a secret in base64 has been published, or undefined. */
export function publicationOf(secret: string): string | undefined {
  const digest = hash('sha256', Buffer.from(secret, 'base64'));
  return Object.hasOwn(SOURCES, digest) ? SOURCES[digest] : undefined;
}
