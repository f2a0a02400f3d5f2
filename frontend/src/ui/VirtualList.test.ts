import { fireEvent, render, screen } from '@testing-library/svelte';
import { tick } from 'svelte';
import { describe, expect, it, vi } from 'vitest';
import List from '../test/ListUnderTest.svelte';

const names = (n: number, from = 0) => Array.from({ length: n }, (_, i) => `thing-${from + i}`);
const grid = () => screen.getByRole('grid');
const drawn = () => screen.getAllByRole('gridcell').map((c) => c.textContent);
const scrollTo = async (y: number) => {
  grid().scrollTop = y;
  await fireEvent.scroll(grid());
};

describe('a long list', () => {
  it('draws what is in sight only, and says how long it is', async () => {
    render(List, { items: names(10_000), onopen: vi.fn() });
    expect(drawn().length).toBeLessThan(40);
    expect(grid().getAttribute('aria-rowcount')).toBe('10001');
    await scrollTo(150_000);
    expect(drawn()).toContain('thing-5000');
    expect(drawn()).not.toContain('thing-0');
  });

  it('follows new rows at its top', async () => {
    const { rerender } = render(List, { items: names(100), onopen: vi.fn() });
    await rerender({ items: ['new', ...names(100)] });
    expect(drawn()[0]).toBe('new');
    expect(screen.queryByText(/new$/, { selector: 'button' })).toBeNull();
  });

  it('keeps what is in sight where it is while rows come above', async () => {
    const { rerender } = render(List, { items: names(1000), onopen: vi.fn() });
    await scrollTo(9000);
    await rerender({ items: ['a', 'b', ...names(1000)] });
    expect(grid().scrollTop).toBe(9060);
    await fireEvent.click(screen.getByText('↑ 2 new'));
    expect(grid().scrollTop).toBe(0);
    expect(drawn()[0]).toBe('a');
  });

  it('is walked and opened by keys', async () => {
    const onopen = vi.fn();
    render(List, { items: names(1000), onopen });
    await fireEvent.keyDown(grid(), { key: 'ArrowDown' });
    await fireEvent.keyDown(grid(), { key: 'ArrowDown' });
    const at = () => document.getElementById(grid().getAttribute('aria-activedescendant')!);
    expect(at()!.textContent).toContain('thing-1');
    await fireEvent.keyDown(grid(), { key: 'Enter' });
    expect(onopen).toHaveBeenLastCalledWith('thing-1');
    await fireEvent.keyDown(grid(), { key: 'End' });
    await tick();
    expect(at()!.textContent).toContain('thing-999');
    await fireEvent.keyDown(grid(), { key: 'Escape' });
    expect(grid().getAttribute('aria-activedescendant')).toBeNull();
  });

  it('opens the row that was pressed, though another is there by the time of the click', async () => {
    const onopen = vi.fn();
    const { rerender } = render(List, { items: names(10), onopen });
    await fireEvent.pointerDown(screen.getByText('thing-0').parentElement!);
    await rerender({ items: ['new', ...names(10)] });
    await fireEvent.click(screen.getByText('new').parentElement!);
    expect(onopen).toHaveBeenCalledExactlyOnceWith('thing-0');
  });

  it('asks for more when its end comes into sight', async () => {
    const onend = vi.fn();
    render(List, { items: names(500), onopen: vi.fn(), onend });
    expect(onend).not.toHaveBeenCalled();
    await scrollTo(500 * 30);
    expect(onend).toHaveBeenCalled();
  });
});
