package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"bellwether/engine/admin"
	"bellwether/engine/fleet"
)

// mostNames is how many deployments are listed before "and N more".
const mostNames = 10

// named says what a name stands for that is no model's own, nil for any other.
func (c *client) named(name string) (*admin.NameStatus, error) {
	var s admin.NameStatus
	err := c.call("GET", "/admin/name?name="+url.QueryEscape(name), nil, &s)
	var refused *codedError
	if errors.As(err, &refused) && refused.code == exitRefused {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &s, nil
}

// noModel says why a name means no model here.
func (c *client) noModel(name string) error {
	switch s, err := c.named(name); {
	case err != nil || s == nil:
		return coded(exitRefused, "no model %s is here; bellwether models lists them", name)
	case s.Contract != nil:
		return coded(exitRefused, "%s is an embedding contract and no model; name one of its members: %s", name, fewOf(s.Contract.Members))
	case len(s.Alias.Deployments) == 0:
		return coded(exitRefused, "%s is an alias and no model, and nothing it may choose is here; bellwether models show %s says more", name, name)
	default:
		return coded(exitRefused, "%s is an alias and no model; name one that it may choose: %s", name, fewOf(s.Alias.Deployments))
	}
}

// showName tells what an alias or an embedding contract stands for.
func (e *environ) showName(s *admin.NameStatus) error {
	if e.cli.JSON {
		return e.json(s)
	}
	if s.Contract != nil {
		e.showContract(s.Name, s.Contract)
		return nil
	}
	e.showAlias(s.Name, s.Alias)
	return nil
}

func (e *environ) showAlias(asked string, a *admin.AliasView) {
	e.printf("%s is an alias", asked)
	if !strings.EqualFold(asked, a.Name) {
		e.printf(" (%s)", a.Name)
	}
	if a.Builtin {
		e.printf(", there from the start")
	}
	switch {
	case len(a.Models) == 0:
		e.printf(": it chooses among every chat model")
	case a.PinnedOrder:
		e.printf(": it takes the first that can serve of %s", fewOf(a.Models))
	default:
		e.printf(": it chooses among %s", fewOf(a.Models))
	}
	profile := a.Profile
	if profile == "" {
		profile = "balanced"
	}
	e.printf(", by the profile %s\n", profile)
	var only []string
	if len(a.Tags) > 0 {
		only = append(only, "with the tags "+strings.Join(a.Tags, ", "))
	}
	if a.RequireVision {
		only = append(only, "that see")
	}
	if a.Locality == "this_node" {
		only = append(only, "on the machine that asks")
	}
	if len(only) > 0 {
		e.printf("Only models %s\n", strings.Join(only, ", "))
	}
	if n := len(a.Deployments); n > 0 {
		e.printf("%s at present: %s\n", counted(n, "deployment"), fewOf(a.Deployments))
	} else {
		e.printf("No deployment at present: requests for it are refused\n")
	}
	if len(a.Absent) > 0 {
		e.printf("On no machine: %s\n", fewOf(a.Absent))
	}
	e.printf("Which of them a request gets, and why: bellwether explain request.json --live\n")
}

func (e *environ) showContract(asked string, c *admin.ContractStatus) {
	e.printf("%s is an embedding contract of %s", asked, fewOf(c.Members))
	if c.Anchor == nil {
		e.printf(", bound to nothing yet: it answers 503\n")
	} else {
		e.printf(", bound to %s (%s)\n", fleet.ShortIdentity(c.Anchor.Identity), c.Anchor.Source)
	}
	if n := len(c.Replicas); n > 0 {
		e.printf("%s at present: %s\n", counted(n, "replica"), fewOf(c.Replicas))
	} else if c.Anchor != nil {
		e.printf("No replica at present: it answers 503\n")
	}
	for i, o := range c.Out {
		if i == mostNames {
			e.printf("And %d more that do not answer for it\n", len(c.Out)-i)
			break
		}
		e.printf("Out: %s: %s\n     %s\n", o.Deployment, o.Reason, o.Remedy)
	}
	if len(c.Absent) > 0 {
		e.printf("On no machine: %s\n", fewOf(c.Absent))
	}
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// fewOf lists the first names.
func fewOf(names []string) string {
	if len(names) > mostNames {
		return strings.Join(names[:mostNames], ", ") + fmt.Sprintf(" and %d more", len(names)-mostNames)
	}
	return strings.Join(names, ", ")
}
