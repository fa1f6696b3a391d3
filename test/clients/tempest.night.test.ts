import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from 'vitest';
import { recordShown } from '../harness/evidence.ts';
import { startKeystone, type Keystone } from '../harness/keystone.ts';
import { POOL_ID } from '../harness/samples.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';

/** The modules of OpenStack's integration tests for Designate, with the number of tests. */
const MODULES = { test_tld: 16, test_tsigkey: 25, test_zones: 23, test_pool: 18 };

/** The integration tests that may fail, with the reason. */
const MAY_FAIL: Readonly<Record<string, string>> = {
  'TsigkeyAdminTest.test_list_tsigkey_filter_by_algorithm': 'chooses the scope at random',
  'TsigkeyAdminTest.test_update_tsigkey': 'chooses the scope at random',
  'ZonesNegativeTest.test_huge_size_description': 'expects 400 for a body above the size limit',
  'TestPoolAdminNegative.test_create_pool_invalid_name':
    'expects 400 for a body above the size limit',
  'TestPoolAdminNegative.test_update_pool_with_invalid_name':
    'expects 400 for a body above the size limit',
  'ZonesTest.test_create_zone_validate_recordsets_created': 'needs record sets',
};

/** The time limit in milliseconds. Each integration test issues several Keystone tokens. */
const TIMEOUT_MS = 900_000;

/**
 * Whether to run the integration tests. They are in the Debian packages `tempest` and
 * `designate-tempest-plugin`. .ci/run skips them, because they take more than two minutes of CPU
 * time.
 */
const installed =
  process.env.TEST_TEMPEST === '1' &&
  existsSync('/usr/lib/python3/dist-packages/designate_tempest_plugin/tests');
const folder = temporaryFolder();

describe.runIf(installed)('the integration tests of OpenStack', { timeout: TIMEOUT_MS }, () => {
  let keystone: Keystone;
  let service: TestService;
  beforeAll(async () => {
    keystone = await startKeystone();
    await keystone.createProject('services');
    await keystone.createRole('service');
    const password = await keystone.createUser('tsigil', 'service', { project: 'services' });
    service = await startTestService({
      TSIGIL_COMPATIBILITY: 'designate',
      TSIGIL_AUTH_METHOD: 'keystone',
      TSIGIL_AUTH_KEYSTONE_URL: keystone.url,
      TSIGIL_AUTH_KEYSTONE_USERNAME: 'tsigil',
      TSIGIL_AUTH_KEYSTONE_PASSWORD: password,
      TSIGIL_AUTH_KEYSTONE_PROJECT: 'services',
      TSIGIL_AUTH_KEYSTONE_TIMEOUT_SECONDS: '30',
    });
    await keystone.publish('dns', service.url);
    await keystone.publish('identity', `${keystone.url}/v3`);
    const administrator = service.with(await keystone.token('admin', { project: 'admin' }));
    await administrator.patch(`/v2/pools/${POOL_ID}`, {
      ns_records: [{ hostname: 'ns1.example.org.', priority: 1 }],
    });
    mkdirSync(join(folder, 'locks'));
    writeFileSync(join(folder, 'tempest.conf'), await configuration(keystone));
  }, TIMEOUT_MS);

  test('all integration tests pass, apart from the tests that may fail for a known reason', async () => {
    const modules = Object.keys(MODULES).map(
      (name) => `designate_tempest_plugin.tests.api.v2.${name}`,
    );
    const child = spawn('/usr/bin/python3', ['-m', 'testtools.run', ...modules], {
      cwd: folder,
      env: {
        PATH: '/usr/bin:/bin',
        HOME: folder,
        TEMPEST_CONFIG_DIR: folder,
        TEMPEST_CONFIG: 'tempest.conf',
      },
    });
    const exited = once(child, 'exit');
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
    recordShown('output', out);
    const output = out + err;
    const failed = [...output.matchAll(/^(?:FAIL|ERROR): (.+)$/gm)]
      .map(([, name = '']) => /(\w+\.\w+)(?:\[|$)/.exec(name)?.[1] ?? name)
      .filter((name) => !Object.hasOwn(MAY_FAIL, name));
    expect(failed, output).toEqual([]);
    const total = Object.values(MODULES).reduce((sum, count) => sum + count, 0);
    expect(output).toMatch(new RegExp(`^Ran ${total} tests`, 'm'));
  });
});

async function configuration(keystone: Keystone): Promise<string> {
  const password = await keystone.createUser('tempest', 'admin', { project: 'admin' });
  await keystone.createUser('tempest', 'admin', 'domain');
  await keystone.createUser('tempest', 'admin', 'system');
  return `[DEFAULT]
log_file = ${folder}/tempest.log
[oslo_concurrency]
lock_path = ${folder}/locks
[auth]
use_dynamic_credentials = true
admin_username = tempest
admin_password = ${password}
admin_project_name = admin
admin_domain_name = Default
[identity]
uri_v3 = ${keystone.url}/v3
auth_version = v3
region = test
v3_endpoint_type = public
[service_available]
cinder = false
glance = false
neutron = false
nova = false
swift = false
designate = true
[dns]
endpoint_type = public
build_timeout = 30
`;
}
