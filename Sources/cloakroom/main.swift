print("cloakroom")
