import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { listeningPorts } from '../harness/process-state.ts';
import { startServiceProcess, temporaryFolder, type ServiceProcess } from '../harness/service.ts';

let folder: string;
let service: ServiceProcess;
beforeEach(async () => {
  folder = temporaryFolder();
  service = await startServiceProcess(folder, { NODE_OPTIONS: '--inspect-port=0' });
});
afterEach(async () => {
  await service.stop('SIGKILL');
});

const HUNG_UP = 'SIGHUP received: reloaded the configuration';
const count = () => service.output().split(`"msg":"${HUNG_UP}"`).length - 1;

async function hangUp(): Promise<void> {
  const before = count();
  service.process.kill('SIGHUP');
  while (count() === before) await once(service.process.stdout ?? service.process, 'data');
}

describe.runIf(process.platform === 'linux')('signals', () => {
  test('after SIGUSR1, the service opens no inspector and continues', async () => {
    const pid = service.process.pid ?? 0;
    const own = [Number(new URL(service.url).port)];
    expect(listeningPorts(pid)).toEqual(own);
    for (let times = 0; times < 3; times += 1) {
      service.process.kill('SIGUSR1');
      await hangUp(); // the process handles SIGUSR1 before SIGHUP
      expect((await service.get('/v2/tlds')).status).toBe(200);
      expect(listeningPorts(pid)).toEqual(own);
    }
    expect(service.output()).not.toMatch(/debugger|inspector/i);
  });
});
