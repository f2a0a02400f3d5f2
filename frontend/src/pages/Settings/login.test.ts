import { fireEvent, render, screen } from '@testing-library/svelte';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { login } from '../../lib/login.svelte';
import { notices } from '../../lib/notices.svelte';
import { session } from '../../lib/session.svelte';
import type { LoginItem } from '../../lib/wire';
import AskLogin from '../../shell/AskLogin.svelte';
import { engine } from '../../test/golden';
import Login from './Login.svelte';

const off: LoginItem = { known: true, on: false, can: true, reason: '', remedy: '', entry: '/home/ann/.config/autostart/bellwether.desktop', ask: false };

beforeEach(() => {
  login.item = null;
  session.known = session.unlocked = true;
});

describe('start at login', () => {
  it('shows what the system says, and what it made of the switch', async () => {
    const log = engine({ 'GET /admin/login-item': off, 'POST /admin/login-item': { ...off, on: true } });
    render(Login);
    const box = (await screen.findByRole('switch')) as HTMLInputElement;
    expect(box.checked).toBe(false);
    await fireEvent.click(box);
    await screen.findByText('Bellwether starts when you log in to this computer.');
    expect(log.bodies.at(-1)).toEqual({ on: true });
    expect(box.checked).toBe(true);
    screen.getByText(off.entry);
  });

  it('goes back when the system refuses, and says why', async () => {
    const no = new Response(JSON.stringify({ error: { code: 'login_refused', message: 'This Bellwether stands in a folder for temporary files.', remedy: 'Install it.' } }), { status: 409 });
    engine({ 'GET /admin/login-item': off, 'POST /admin/login-item': no });
    render(Login);
    const box = (await screen.findByRole('switch')) as HTMLInputElement;
    await fireEvent.click(box);
    await vi.waitFor(() => expect(notices.list[0]?.remedy).toBe('Install it.'));
    await vi.waitFor(() => expect(box.checked).toBe(false));
  });

  it('says why it cannot be on, and is no switch then', async () => {
    engine({ 'GET /admin/login-item': { ...off, can: false, reason: 'it was switched off in Task Manager', remedy: 'switch it on there' } });
    render(Login);
    expect(((await screen.findByRole('switch')) as HTMLInputElement).disabled).toBe(true);
    screen.getByText('It was switched off in Task Manager. Switch it on there.');
  });

  it('can be switched off even where it could not be switched on', async () => {
    engine({ 'GET /admin/login-item': { ...off, on: true, can: false } });
    render(Login);
    expect(((await screen.findByRole('switch')) as HTMLInputElement).disabled).toBe(false);
  });

  it('is not there where no system answers', async () => {
    const log = engine({});
    render(Login);
    await vi.waitFor(() => expect(log.asked).toHaveLength(1));
    expect(screen.queryByText('Start at login')).toBeNull();
  });
});

describe('the question of the first start', () => {
  it('is asked of the owner only, and leaves with either answer', async () => {
    login.item = { ...off, ask: true };
    session.unlocked = false;
    const { rerender } = render(AskLogin);
    expect(screen.queryByRole('region')).toBeNull();
    session.unlocked = true;
    await rerender({});
    const log = engine({ 'POST /admin/login-item': off });
    await fireEvent.click(await screen.findByRole('button', { name: 'No' }));
    await vi.waitFor(() => expect(screen.queryByRole('region')).toBeNull());
    expect(log.bodies).toEqual([{}]);
  });

  it('switches on what was asked', async () => {
    login.item = { ...off, ask: true };
    const log = engine({ 'POST /admin/login-item': { ...off, on: true } });
    render(AskLogin);
    await fireEvent.click(screen.getByRole('button', { name: 'Start at login' }));
    await vi.waitFor(() => expect(log.bodies).toEqual([{ on: true }]));
    await vi.waitFor(() => expect(screen.queryByRole('region')).toBeNull());
  });
});
