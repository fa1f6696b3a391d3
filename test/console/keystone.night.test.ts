import type { Browser } from 'playwright-core';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startCloud, type Cloud } from '../auth/keystone-cloud.ts';
import {
  expectAccessible,
  hasChromium,
  openConsole,
  shoot,
  startChromium,
} from '../harness/chromium.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';

const isReady = hasChromium() && hasProgram('keystone-manage', 'keystone');

describe.skipIf(!isReady)('signing in to the console with Keystone', () => {
  let browser: Browser;
  let cloud: Cloud;
  let service: TestService;
  beforeAll(async () => {
    cloud = await startCloud();
    service = await startTestService({
      ...cloud.variables(),
      TSIGIL_AUTH_METHOD: '[tokens, keystone]',
    });
    browser = await startChromium();
  }, 300_000);

  test('a person with a second factor and two projects signs in and out by keyboard', async () => {
    for (const project of ['one', 'two'])
      await cloud.keystone.createUser('grace', 'admin', { project });
    const password = await cloud.keystone.createUser('grace', 'reader', { project: 'one' });
    const passcode = await cloud.keystone.requirePasscode('grace');
    const { page, context, complaints, open } = await openConsole(browser, service, {
      bypassCSP: true,
    });
    onTestFinished(() => context.close());
    await open('');
    const user = page.getByLabel('User');
    await user.fill('grace');
    expect(await user.getAttribute('autocomplete')).toBe('username');
    expect(await page.getByLabel('Domain').inputValue()).toBe('Default');
    await expectAccessible(page);
    await page.getByLabel('Password').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByText('Sign-in failed.').waitFor();
    await shoot(page, 'sign-in-keystone');
    await page.getByLabel('Password').fill(password);
    await page.keyboard.press('Enter');

    const code = page.getByLabel('Code from your app');
    await code.waitFor();
    expect(await code.evaluate((element) => element.matches(':focus'))).toBe(true);
    expect(await code.getAttribute('autocomplete')).toBe('one-time-code');
    await shoot(page, 'sign-in-passcode');
    await page.keyboard.type(passcode());
    await page.keyboard.press('Enter');

    const project = page.getByLabel('Project');
    await project.waitFor();
    await shoot(page, 'sign-in-project');
    await expectAccessible(page);
    expect(await page.content()).not.toContain(password);
    await project.selectOption({ label: 'two' });
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.getByText('grace').first().waitFor();

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('User').waitFor();
    await page.getByRole('button', { name: 'Token', exact: true }).click();
    await page.getByLabel('Token').fill(service.token);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(complaints).toEqual([]);
  });
});
