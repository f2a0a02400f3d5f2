import { cleanup } from '@testing-library/svelte';
import { afterEach, beforeEach } from 'vitest';
import { fleet } from '../lib/fleet.svelte';

beforeEach(() => fleet.reset());
afterEach(() => cleanup());
